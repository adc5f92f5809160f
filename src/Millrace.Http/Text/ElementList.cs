namespace Millrace.Http;

/// <summary>
/// The elements of a field value between delimiters (RFC 9110 section 5.6.1), without their optional whitespace. Empty elements are
/// included: most callers ignore them, framing does not.
/// </summary>
/// <param name="value">The value.</param>
/// <param name="delimiter">What separates elements.</param>
/// <param name="hasQuotes">
/// Whether a delimiter within a quoted string (section 5.6.4) is none; a string that is not closed goes on to the end.
/// </param>
internal ref struct ElementList(ReadOnlySpan<byte> value, byte delimiter = (byte)',', bool hasQuotes = false)
{
    private ReadOnlySpan<byte> _remaining = value;
    private bool _ended;

    public ReadOnlySpan<byte> Current { get; private set; }

    public readonly ElementList GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_ended)
        {
            return false;
        }

        int end = hasQuotes ? IndexOutsideQuotes() : _remaining.IndexOf(delimiter);
        _ended = end < 0;
        Current = (_ended ? _remaining : _remaining[..end]).Trim(" \t"u8);
        _remaining = _ended ? default : _remaining[(end + 1)..];
        return true;
    }

    private readonly int IndexOutsideQuotes()
    {
        bool isQuoted = false;
        for (int at = 0; at < _remaining.Length; at++)
        {
            byte current = _remaining[at];
            if (current == '"')
            {
                isQuoted = !isQuoted;
            }
            else if (current == '\\' && isQuoted)
            {
                at++;
            }
            else if (current == delimiter && !isQuoted)
            {
                return at;
            }
        }

        return -1;
    }
}
