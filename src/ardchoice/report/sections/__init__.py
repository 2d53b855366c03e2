"""What a report says, section by section."""

from ardchoice.report.sections.contents import contents

__all__ = ["contents"]
