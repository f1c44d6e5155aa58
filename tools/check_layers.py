#!/usr/bin/env python3
"""Fails when a file includes something that its layer may not see.

The table ALLOWED is the design: who may use whom (docs/architecture.md draws it, the reasons are in
docs/decisions/0004-folder-directions.md). OWNERS says which files may include a third-party
library.
Only direct includes are read. That is enough because the table is closed: no folder may include
another one that could hand a forbidden library through.

Usage: check_layers.py [ROOT]. Prints `file:line: error: ...`; exit status 1 when there is one.
"""
import pathlib
import re
import sys

# Folder -> prefixes of project headers it may include. The longest matching folder counts.
ALLOWED = {
    'sim/core': ['sim/core/'],
    'sim/engine': ['sim/'],
    'topologies': ['topologies/', 'sim/core/'],
    'models/params': ['models/params/', 'sim/core/'],
    'models/collectives': ['models/collectives/', 'topologies/', 'sim/core/'],
    'models/nccl': ['models/nccl/', 'models/params/', 'topologies/', 'sim/core/'],
    'models/facts': ['models/facts/', 'models/nccl/', 'topologies/', 'sim/core/'],
    'models/diagnosis': ['models/diagnosis/', 'models/facts/', 'models/nccl/', 'topologies/',
                         'sim/core/'],
    'models/training': ['models/training/', 'sim/core/'],
    'models/transport': ['models/transport/', 'models/params/', 'topologies/', 'sim/'],
    'scenarios/spec': ['scenarios/spec/', 'models/params/', 'models/collectives/', 'models/nccl/',
                       'models/facts/', 'topologies/', 'sim/core/'],
    'scenarios': ['scenarios/', 'models/', 'topologies/', 'sim/'],
    'real': ['real/', 'scenarios/spec/', 'models/params/', 'models/collectives/', 'models/nccl/',
             'topologies/', 'sim/core/'],
    'real/collect': ['real/', 'models/facts/', 'models/nccl/', 'topologies/', 'sim/core/'],
    'tools': ['tools/', 'real/', 'scenarios/', 'models/', 'topologies/', 'sim/'],
    'tests': ['tests/', 'tools/', 'real/', 'scenarios/', 'models/', 'topologies/', 'sim/'],
}

# Start of a third-party header -> paths (folder with '/', or one file) that may include it.
# Tests may include all of them.
OWNERS = {
    'simgrid': ['sim/engine/'],
    'xbt': ['sim/engine/'],
    'boost/': ['topologies/'],
    'yaml-cpp/': ['sim/core/yaml.cpp'],
    'pugixml': ['models/nccl/'],
    'infiniband/': ['real/'],
    'rdma/': ['real/'],
    'cuda': ['real/'],
    'nvml': ['real/'],
    'nccl': ['real/'],
    'hwloc': ['real/'],
    'CLI/': ['tools/cli.cpp'],
    'nlohmann/': ['tools/json/json.cpp'],
    'gtest/': [],
    'gmock/': [],
    'benchmark/': [],
    'fmt/': ['sim/', 'topologies/', 'models/', 'scenarios/', 'real/', 'tools/'],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")')
SUFFIXES = {'.h', '.cpp', '.cu', '.cuh', '.hpp', '.cc'}


def check_file(path, text):
    """Errors of one file, as (line, message). `path` is relative to the root, with '/'."""
    folder = max((f for f in ALLOWED if path.startswith(f + '/')), key=len, default=None)
    if folder is None:
        return [(1, f"no layer is known for '{path}'; add its folder to tools/check_layers.py")]
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        if match.group(1) is not None:
            errors += [(number, message) for message in check_library(path, match.group(1))]
        elif not any(match.group(2).startswith(prefix) for prefix in ALLOWED[folder]):
            allowed = ', '.join(prefix.rstrip('/') for prefix in ALLOWED[folder])
            errors.append(
                (number, f'{folder} may not include "{match.group(2)}"; allowed: {allowed}'))
    return errors


def check_library(path, header):
    """Messages for `#include <header>` in the file `path`."""
    if path.startswith('tests/'):
        return []
    for start, owners in OWNERS.items():
        if header.startswith(start):
            if any(path == owner or (owner.endswith('/') and path.startswith(owner))
                   for owner in owners):
                return []
            place = ', '.join(owner.rstrip('/') for owner in owners) or 'tests'
            return [f'{path} may not include <{header}>; only {place} may']
    project = {folder.split('/')[0] for folder in ALLOWED}
    if header.split('/')[0] in project and '/' in header:
        return [f'write "{header}" with quotes: it is a header of this project']
    return []


def main(root):
    """Checks every source file below `root`; returns the exit status."""
    status = 0
    for top in sorted({folder.split('/')[0] for folder in ALLOWED}):
        for path in sorted((root / top).rglob('*')):
            if path.suffix in SUFFIXES and path.is_file():
                name = path.relative_to(root).as_posix()
                for line, message in check_file(name, path.read_text(encoding='utf-8')):
                    print(f'{name}:{line}: error: {message}')
                    status = 1
    return status


if __name__ == '__main__':
    HERE = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
