"""What the README quotes of the main scenario is what the program prints."""
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


if __name__ == '__main__':
    unittest.main()
