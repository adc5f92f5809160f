namespace Millrace.Http;

/// <summary>
/// The elements of a comma-separated field value (RFC 9110 section 5.6.1), without their optional whitespace. Empty elements are included:
/// most callers ignore them, framing does not. It does not support quoted strings; use it for lists of tokens.
/// </summary>
internal ref struct CommaList(ReadOnlySpan<byte> value)
{
    private ReadOnlySpan<byte> _rest = value;
    private bool _ended;

    public ReadOnlySpan<byte> Current { get; private set; }

    public readonly CommaList GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_ended)
        {
            return false;
        }

        int comma = _rest.IndexOf((byte)',');
        _ended = comma < 0;
        Current = (_ended ? _rest : _rest[..comma]).Trim(" \t"u8);
        _rest = _ended ? default : _rest[(comma + 1)..];
        return true;
    }
}

/// <summary>
/// The elements of a value between delimiters, without their optional whitespace. A delimiter within a quoted string (RFC 9110
/// section 5.6.4) is none; a string that is not closed goes on to the end.
/// </summary>
internal ref struct QuotedList(ReadOnlySpan<byte> value, byte delimiter)
{
    private readonly byte _delimiter = delimiter;
    private ReadOnlySpan<byte> _rest = value;
    private bool _ended;

    public ReadOnlySpan<byte> Current { get; private set; }

    public readonly QuotedList GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_ended)
        {
            return false;
        }

        int length = LengthOfElement();
        _ended = length == _rest.Length;
        Current = _rest[..length].Trim(" \t"u8);
        _rest = _ended ? default : _rest[(length + 1)..];
        return true;
    }

    private readonly int LengthOfElement()
    {
        bool isQuoted = false;
        for (int at = 0; at < _rest.Length; at++)
        {
            byte current = _rest[at];
            if (current == '"')
            {
                isQuoted = !isQuoted;
            }
            else if (current == '\\' && isQuoted)
            {
                at++;
            }
            else if (current == _delimiter && !isQuoted)
            {
                return at;
            }
        }

        return _rest.Length;
    }
}
