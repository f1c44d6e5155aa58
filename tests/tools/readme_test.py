"""What the README quotes is what the program prints; the commands of docs/coverage.md work."""
import os
import re
import unittest

from program import SOURCE, run


def words(line):
    """A line with single blanks: column widths depend on rows that are not quoted."""
    return ' '.join(line.split())


class Quotes(unittest.TestCase):
    def test_quoted_lines_are_printed(self):
        text = (SOURCE / 'README.md').read_text(encoding='utf-8')
        section = text.split('\n## What it says\n')[1].split('\n## ')[0]
        blocks = re.findall(r'^```\n(.*?)^```$', section, re.M | re.S)
        self.assertEqual(len(blocks), 2)
        report = run('run', str(SOURCE / 'scenarios/catalog/nic-misselection.yaml')).stdout
        printed = {words(line) for line in report.splitlines()}
        for block in blocks:
            for line in block.splitlines():
                self.assertIn(words(line), printed)


class Coverage(unittest.TestCase):
    def test_every_row_has_a_command_and_a_test_and_the_commands_work(self):
        text = (SOURCE / 'docs/coverage.md').read_text(encoding='utf-8')
        commands = set()
        device = os.path.isdir('/sys/class/infiniband') and os.listdir('/sys/class/infiniband')
        for row in re.findall(r'^\| [AB]\d+ \|.*$', text, re.M):
            _, _, _, command, test, page, _ = row.split('|')
            self.assertRegex(test, r'`\w+\.\w+`', row)
            self.assertRegex(page, r'\]\(\S+\.md\)', row)
            guest = re.search(r'`tools/soft-roce -- [^`]*build/release/busbw ([^`]+)`', command)
            if guest:  # run in the guest by the tests of soft-RoCE; here, whether its options are
                words = guest.group(1).split()
                options = run(words[0], '--help').stdout
                for word in words:
                    self.assertTrue(not word.startswith('--') or word in options, word)
                continue
            first = re.search(r'`busbw ([^`]+)`(?: \(exit code (\d)\))?', command)
            arguments = first.group(1)
            if '(needs an RDMA device)' not in command or device:
                commands.add((arguments, int(first.group(2) or 0)))
                continue
            result = run(*arguments.split(), cwd=SOURCE)
            self.assertEqual((result.returncode, result.stdout), (3, ''), arguments)
            self.assertRegex(result.stderr, r'^error: ', arguments)
        self.assertGreater(len(commands), 5)
        for command, code in sorted(commands):
            arguments = command.replace('CASE', 'scenarios/catalog/nic-misselection.yaml').split()
            result = run(*arguments, cwd=SOURCE)
            self.assertEqual((result.returncode, result.stderr), (code, ''), command)


if __name__ == '__main__':
    unittest.main()
