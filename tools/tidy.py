#!/usr/bin/env python3
"""House rules that a compiler does not check. Prints `file:line: error: ...`, exits 1 on any error.

Each rule is a function from a File to (line, rule, message) triples and has its own test on a few
lines in tests/tools/tidy_test.py. A banned name is reported with what to use instead. An exemption
stands in EXEMPT with its reason. The rules read text, not syntax: tools/clang-tidy does the rest.

Usage: tidy.py [ROOT]
"""
import dataclasses
import pathlib
import re
import sys

LONGEST_LINE = 100
LONGEST_HEADER = 200
LONGEST_SOURCE = 500
LONGEST_FUNCTION = 70

# (rule, path or folder with '/') -> reason. Nothing else is exempt.
EXEMPT = {
    ('catch', 'tools/main.cpp'): 'the one place that turns exceptions into exit codes',
    ('catch', 'tools/rank/main.cpp'): 'the same place of the rank program',
    ('catch', 'tools/cli.cpp'): 'turns exceptions of CLI11 into InputError',
    ('catch', 'tools/json/json.cpp'): 'turns exceptions of nlohmann-json into problems',
    ('catch', 'sim/core/yaml.cpp'): 'turns exceptions of yaml-cpp into problems',
    ('catch', 'tests/'): 'tests assert what is thrown',
    ('catch', 'models/facts/host_folder.cpp'): 'an unreadable file is a problem of it',
    ('catch', 'sim/engine/reference.cpp'): 'carries an exception around timers of SimGrid',
    ('catch', 'real/launch/run_rank.cpp'): 'a rank that fails tells the others why, then goes on',
    ('catch', 'scenarios/accuracy/predict.cpp'): 'a record that NCCL refuses stops no other',
    ('exit', 'tests/fuzz/main.cpp'): 'the canary that crashes on purpose',
    ('getenv', 'tests/'): 'tests set the environment of what they run',
    ('line-length', 'tests/scenarios/load_test.cpp'): 'YAML whose places are asserted',
    ('number', 'tests/'): 'tests may read a number in another way than the code does',
    ('reference-path', 'tools/cmake/BusbwBuild.cmake'): 'defines BUSBW_SHARED_DIR',
}

CODE = {'.h', '.cpp', '.cu'}
TEXT = CODE | {'.py', '.sh', '.cmake', '.yaml', '.md', '.txt', '.json'}
RAW = ('tests/data/', 'tests/golden/')  # texts of other programs, kept as they were printed
TOP = ('sim', 'models', 'topologies', 'scenarios', 'real', 'tests', 'tools', 'docs')
DETERMINISTIC = ('sim/', 'models/', 'topologies/', 'scenarios/')
EVERYWHERE = ('',)


@dataclasses.dataclass
class File:
    """A text file: its path relative to the root, with '/', and its lines without line ends."""
    path: str
    text: str

    @property
    def lines(self):
        """Lines without their ends."""
        return self.text.split('\n')

    @property
    def suffix(self):
        """'.h', '.cpp' ...; scripts without a suffix count by their first line."""
        suffix = pathlib.PurePosixPath(self.path).suffix
        if self.path.endswith('CMakeLists.txt'):
            return '.cmake'
        if not suffix and self.text.startswith('#!'):
            return '.py' if 'python' in self.lines[0] else '.sh'
        return suffix


@dataclasses.dataclass
class Ban:
    """A pattern, where it is banned (not_in wins), and what to use instead."""
    rule: str
    pattern: str
    instead: str
    within: tuple = EVERYWHERE
    not_in: tuple = ()


BANS = [
    Ban('random', r'\b(s?rand\s*\(|random_device\b|mt19937)',
        'Random of sim/core/random.h, passed by reference'),
    Ban('distribution', r'std::\w+_distribution\b',
        'Random of sim/core/random.h: std leaves the values open'),
    Ban('unordered', r'\bunordered_(multi)?(map|set)\b', 'std::map, std::set or a sorted vector',
        DETERMINISTIC),
    Ban('clock', r'\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime)\b'
        r'|\btime\(nullptr\)', 'SimTime of the engine; clocks exist only in real and tools',
        EVERYWHERE, ('real/', 'tools/', 'tests/')),
    Ban('header', r'#\s*include\s*<(ranges|source_location|expected)>',
        'nothing: clang 14 cannot compile it'),
    Ban('format', r'#\s*include\s*<format>', '<fmt/format.h>'),
    Ban('views', r'\bstd::(views|ranges::views)::', 'a loop: clang 14 cannot compile views'),
    Ban('using-namespace', r'\busing\s+namespace\s+(std|busbw)\b', 'the qualified name'),
    Ban('endl', r'\bstd::endl\b', r"'\n'"),
    Ban('print', r'\bstd::(cout|cerr|clog)\b|\b(printf|puts|fprintf)\s*\(|\bfmt::print\b',
        'return the text; tools print it', DETERMINISTIC),
    Ban('assert', r'(?<![\w:])assert\s*\(|#\s*include\s*<c?assert(\.h)?>',
        'CHECK of sim/core/check.h'),
    Ban('number', r'\bstd::sto[a-z]+\b|\b(atoi|atol|atoll|atof|strtod|sscanf)\s*\(',
        'parse_integer or parse_number of sim/core/text.h'),
    Ban('exit', r'(?<![\w.>])(std::)?(exit|quick_exit|abort|terminate)\s*\(',
        'throw InputError, SystemError, or CHECK'),
    Ban('getenv', r'\bgetenv\s*\(', 'a parameter; only tools and real read the environment',
        EVERYWHERE, ('tools/', 'real/')),
    Ban('catch', r'\bcatch\s*\(', 'let it reach main: only main catches'),
]


def code_without_comments(file):
    """Lines of C++ with comments and the insides of string literals blanked; line numbers stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"'
                         r'|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)

    def blank(match):
        text = match.group(0)
        if text.startswith('"') or text.startswith('R"'):
            return '"' + '\n' * text.count('\n') + '"'
        return '\n' * text.count('\n')

    # #include "x" is no string literal to blank, but no rule looks inside the quotes either.
    return pattern.sub(blank, file.text).split('\n')


def banned_names(file):
    """Names that this project replaces by something better."""
    if file.suffix not in CODE:
        return
    lines = code_without_comments(file)
    for ban in BANS:
        banned = file.path.startswith(ban.within) and not (
            ban.not_in and file.path.startswith(ban.not_in))
        if not banned:
            continue
        for number, line in enumerate(lines, 1):
            match = re.search(ban.pattern, line)
            if match:
                yield number, ban.rule, \
                    f"'{match.group(0).strip()}' is banned here; use {ban.instead}"


def line_length(file):
    """Lines of at most 100 columns; prose, data and lines of one long address may be longer."""
    if file.suffix not in CODE | {'.py', '.sh', '.cmake'}:
        return
    for number, line in enumerate(file.lines, 1):
        if len(line) > LONGEST_LINE and not re.match(r'\s*(//|#)\s*\S*https?://\S+$', line):
            yield number, 'line-length', f'line of {len(line)} columns; at most {LONGEST_LINE}'


def file_length(file):
    """One topic a file."""
    limit = {'.h': LONGEST_HEADER, '.cpp': LONGEST_SOURCE, '.cu': LONGEST_SOURCE}.get(file.suffix)
    count = file.text.count('\n')
    if limit and count > limit:
        yield limit + 1, 'file-length', \
            f'{count} lines; at most {limit} in a {file.suffix} file: split by topic'


CONTAINER = re.compile(
    r'(template\s*<.*>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b')


def functions(file):
    """(first line, last line, head) of every function body that is not inside another one."""
    text = '\n'.join(re.sub(r'^\s*#.*', '', line) for line in code_without_comments(file))
    stack, head_start, found = [], 0, []
    for position, char in enumerate(text):
        if char in ';}':
            if char == '}' and stack:
                kind, start, head = stack.pop()
                if kind == 'function':
                    first, last = (text.count('\n', 0, at) + 1 for at in (start, position))
                    found.append((first, last, head))
            if char == '}' or not open_parenthesis(text[head_start:position]):
                head_start = position + 1
        elif char == '{':
            raw = text[head_start:position]
            start = head_start + re.match(r'\s*((public|private|protected)\s*:\s*)*', raw).end()
            head = ' '.join(text[start:position].split())
            inside = any(kind in ('function', 'other') for kind, _, _ in stack)
            if CONTAINER.match(head) and '(' not in re.sub(r'alignas\([^)]*\)', '', head):
                kind = 'container'
            elif not inside and '(' in head and (
                    '=' not in head.split('(')[0] or 'operator' in head):
                kind = 'function'
            else:
                kind = 'other'
            stack.append((kind, start, head))
            head_start = position + 1
    return found


def open_parenthesis(text):
    """Whether `text` ends inside parentheses: the ';' of a for loop ends no statement."""
    return text.count('(') > text.count(')')


def function_length(file):
    """Functions that fit on one screen."""
    if file.suffix not in CODE:
        return
    for first, last, _ in functions(file):
        if last - first + 1 > LONGEST_FUNCTION:
            yield first, 'function-length', \
                f'function of {last - first + 1} lines; at most {LONGEST_FUNCTION}'


def header_comment(file):
    """Every file says first what it is."""
    first = next((line for line in file.lines if line and not line.startswith('#!')), '')
    marks = {'.h': '//', '.cpp': '//', '.cu': '//', '.py': '"""', '.sh': '#', '.yaml': '#'}
    mark = marks.get(file.suffix)
    if mark and not first.startswith(mark):
        yield 1, 'header-comment', \
            f"the file must open with a comment ({mark}) that says what it is"
    if file.suffix == '.h' and '\n#pragma once\n' not in file.text:
        yield 1, 'pragma-once', "a header needs '#pragma once'"


def unfinished(file):
    """No notes to self: open work is an issue."""
    for number, line in enumerate(file.lines, 1):
        match = re.search(r'\b(TO' + r'DO|FIX' + r'ME|XX' + r'X|HA' + r'CK)\b', line)
        if match and not file.path.startswith(RAW):
            yield number, 'unfinished', f"'{match.group(0)}': do it now or file an issue"


def machine_paths(file):
    """No path of the writer's machine; the reference material only by its variable."""
    for number, line in enumerate(file.lines, 1):
        match = re.search(r'(^|[^\w.])(/wo' + r'rk/|/ro' + r'ot/)', line)
        if match and not file.path.startswith(RAW):
            yield number, 'machine-path', f"'{match.group(2)}' is a path of one machine"
        if 'shared/' + 'reference' in line:
            yield number, 'reference-path', 'use BUSBW_SHARED_DIR, and skip when it is absent'


def whitespace(file):
    """No tabs, no blanks at line ends, one line end at the end."""
    if file.path.startswith(RAW) or file.suffix not in TEXT or file.suffix == '.txt':
        return
    for number, line in enumerate(file.lines, 1):
        if '\t' in line:
            yield number, 'tab', 'tab; use blanks'
        if line != line.rstrip():
            yield number, 'trailing-blank', 'blanks at the end of the line'
    if file.text and not file.text.endswith('\n'):
        yield len(file.lines), 'final-newline', 'the last line has no line end'


RULES = [banned_names, line_length, file_length, function_length, header_comment, unfinished,
         machine_paths, whitespace]


def is_exempt(rule, path):
    """Whether EXEMPT has a reason for this rule in this file."""
    return any(rule == name and (path == place or (place.endswith('/') and path.startswith(place)))
               for name, place in EXEMPT)


def check(file):
    """(line, message) of every error in `file`."""
    for rule in RULES:
        for line, name, message in rule(file):
            if not is_exempt(name, file.path):
                yield line, f'{message} [{name}]'


def dead_links(root, path, text):
    """Relative links of a page that lead nowhere: (line, message)."""
    for number, line in enumerate(text.split('\n'), 1):
        for target in re.findall(r'\]\(([^)#\s]+)', line):
            page = (root / path).parent
            if not re.match(r'[a-z]+:', target) and not page.joinpath(target).exists():
                yield number, f"link to '{target}', which does not exist [dead-link]"


def missing_readmes(root):
    """Top folders without a README."""
    for folder in TOP:
        if not (root / folder / 'README.md').exists():
            yield (f'{folder}/README.md:1: error: missing: '
                   'what belongs here, what does not, read first')


def project_files(root):
    """Paths of the project's text files, relative to `root`: in TOP folders and beside them."""
    paths = [path for path in root.iterdir() if path.is_file()]
    for folder in TOP + ('.ci',):
        paths += (root / folder).rglob('*')
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        if path.is_file() and '__pycache__' not in name and name != '.git':
            if path.suffix in TEXT or path.suffix == '':
                yield name


def main(root):
    """Checks every file below `root`; returns the exit status."""
    errors = list(missing_readmes(root))
    for name in project_files(root):
        text = (root / name).read_text(encoding='utf-8', errors='replace')
        found = list(check(File(name, text)))
        if name.endswith('.md'):
            found += dead_links(root, name, text)
        errors += [f'{name}:{line}: error: {message}' for line, message in found]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == '__main__':
    HERE = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
