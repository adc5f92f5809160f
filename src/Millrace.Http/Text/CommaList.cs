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
