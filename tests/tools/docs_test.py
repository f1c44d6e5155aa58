"""Tests of the pages in docs: the tests that they name exist; coverage.md has every row."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'A7', 'A8', 'A9', 'A10', 'A11', 'A12', 'B2', 'B3',
        'B4', 'B6', 'B7', 'B8', 'B9', 'B11', 'B12', 'B13', 'B14', 'B15', 'B16', 'B17', 'B18', 'B19',
        'B20', 'B21', 'B22', 'B23', 'B24', 'B25', 'B26', 'B27', 'B28', 'B29', 'B30', 'B31', 'B33']
CASE = re.compile(r'`([A-Z]\w+)\.([A-Z]\w+)`')


def cases():
    """'Suite.Case' of every GoogleTest case in the tree."""
    found = set()
    for path in (ROOT / 'tests').rglob('*.cpp'):
        text = path.read_text(encoding='utf-8')
        found |= {f'{suite}.{case}'
                  for suite, case in re.findall(r'^TEST(?:_[FP])?\((\w+),\s*(\w+)\)', text, re.M)}
    return found


class Pages(unittest.TestCase):
    def test_named_cases_exist(self):
        known = cases()
        suites = {name.split('.')[0] for name in known}
        self.assertGreater(len(known), 100)
        for page in (ROOT / 'docs').rglob('*.md'):
            for suite, case in CASE.findall(page.read_text(encoding='utf-8')):
                if suite in suites or page.name == 'coverage.md':
                    self.assertIn(f'{suite}.{case}', known, page)

    def test_named_python_tests_exist(self):
        for page in (ROOT / 'docs').rglob('*.md'):
            for name in re.findall(r'`tools\.(\w+_test)`', page.read_text(encoding='utf-8')):
                self.assertTrue((ROOT / f'tests/tools/{name}.py').exists(), name)

    def test_coverage_has_every_row_once(self):
        text = (ROOT / 'docs/coverage.md').read_text(encoding='utf-8')
        self.assertEqual(re.findall(r'^\| ([AB]\d+) \|', text, re.M), ROWS)


if __name__ == '__main__':
    unittest.main()
