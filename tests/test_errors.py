"""Error messages."""

from groundling.errors import InputError


def test_a_message_with_a_file_name_that_is_no_text_can_be_printed() -> None:
    message = str(InputError("icon bad\udcff.png must be an image"))
    assert message.encode().decode() == r"icon bad\udcff.png must be an image"
