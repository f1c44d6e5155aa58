#!/usr/bin/env python3
"""Prints what tools/test found: each failure with its output, reasons of skips, and the last line.

Reads a folder: *.xml, the JUnit files that ctest writes (CMake 3.25), and steps.tsv (name,
pass|fail|skip, text) for steps without tests of their own. The last line is `N passed, N failed`,
followed by
`, N skipped` when there are any. Exit status 1 when something failed or nothing was run.
"""
import collections
import dataclasses
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

# What ctest writes for a test that asked to be skipped. Any other test that did not run (a missing
# program, a failed fixture) counts as failed: silence is not success.
SKIP_MESSAGES = ('SKIP_REGULAR_EXPRESSION_MATCHED', 'SKIP_RETURN_CODE')
LONGEST_OUTPUT_LINES = 120
LONGEST_LINE = 500


@dataclasses.dataclass
class Outcome:
    """One test: its name with the run it belongs to, what became of it, and what it printed."""
    name: str
    status: str  # 'pass', 'fail' or 'skip'
    text: str


def read_junit(text, run):
    """Outcomes of one JUnit document written by ctest; `run` names it ('release', 'asan')."""
    outcomes = []
    for case in ElementTree.fromstring(text).iter('testcase'):
        output = (case.findtext('system-out') or '').strip()
        state = case.get('status')
        skipped = case.find('skipped')
        if state == 'run':
            status = 'pass'
        elif skipped is not None and skipped.get('message', '').startswith(SKIP_MESSAGES):
            status = 'skip'
        else:
            status = 'fail'
            problem = skipped if skipped is not None else case.find('failure')
            if problem is not None and problem.get('message'):
                output = (output + '\n' + problem.get('message')).strip()
        outcomes.append(Outcome(f"{run}: {case.get('name')}", status, output))
    return outcomes


def read_steps(text):
    """Outcomes of steps.tsv; line breaks of the text are written there as vertical tabs."""
    outcomes = []
    for line in text.split('\n'):  # splitlines() would also split at vertical tabs
        if line:
            name, status, detail = (line.split('\t', 2) + ['', ''])[:3]
            outcomes.append(Outcome(name, status, detail.replace('\v', '\n').strip()))
    return outcomes


def skip_reason(outcome):
    """The line by which a skipped test says why: gtest's text after 'Skipped', or the last line."""
    lines = [line.strip() for line in outcome.text.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        if line == 'Skipped' or line.endswith(': Skipped'):
            if index + 1 < len(lines):
                return lines[index + 1]
    return lines[-1] if lines else 'no reason given'


def report(outcomes, out):
    """Writes the report; returns the exit status."""
    failed = [outcome for outcome in outcomes if outcome.status == 'fail']
    skipped = [outcome for outcome in outcomes if outcome.status == 'skip']
    for outcome in failed:
        out.write(f'\nFAILED {outcome.name}\n')
        lines = outcome.text.splitlines()
        if len(lines) > LONGEST_OUTPUT_LINES:
            half = LONGEST_OUTPUT_LINES // 2
            cut = f'... {len(lines) - 2 * half} lines left out ...'
            lines = lines[:half] + [cut] + lines[-half:]
        for line in lines:
            cut = ' ...' if len(line) > LONGEST_LINE else ''
            out.write(f'  {line[:LONGEST_LINE]}{cut}\n')
    reasons = collections.Counter(skip_reason(outcome) for outcome in skipped)
    for reason, count in sorted(reasons.items()):
        out.write(f'skipped {count}: {reason}\n')
    if failed:
        out.write('\nfailed:\n')
        for outcome in failed:
            out.write(f'  {outcome.name}\n')
    if not outcomes:
        out.write('no test was run\n')
    passed = len(outcomes) - len(failed) - len(skipped)
    tail = f', {len(skipped)} skipped' if skipped else ''
    out.write(f'{passed} passed, {len(failed)} failed{tail}\n')
    return 1 if failed or passed == 0 else 0


def main(folder):
    """Reads every result in `folder` and reports."""
    outcomes = []
    for path in sorted(folder.glob('*.xml')):
        outcomes += read_junit(path.read_text(encoding='utf-8', errors='replace'), path.stem)
    steps = folder / 'steps.tsv'
    if steps.exists():
        outcomes += read_steps(steps.read_text(encoding='utf-8', errors='replace'))
    return report(outcomes, sys.stdout)


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1])))
