using Millrace.Http;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Gives each request field as one value: the only line, or all lines joined by commas (RFC 9110, section 5.3), which is rare and is copied
/// into this object's memory. One per reactor; the values are valid until the next <see cref="Reset"/>.
/// </summary>
/// <param name="limits">The limits of heads.</param>
internal sealed class JoinedFields(HeadLimits limits)
{
    /// <summary>Enough for all values of a head, each once, with a comma and a space for each line.</summary>
    private readonly byte[] _memory = new byte[limits.HeadBytesMax + (2 * limits.FieldsMax)];
    private int _used;

    public void Reset() => _used = 0;

    /// <summary>The value of a field, which may be read once per head; empty if the field is absent.</summary>
    public ReadOnlySpan<byte> Of(RequestHead head, ReadOnlySpan<byte> bytes, FieldName name)
    {
        if (!head.TryGet(name, out TextRange first))
        {
            return default;
        }

        FieldValues values = head.ValuesOf(name);
        _ = values.MoveNext();
        return values.MoveNext() ? Join(head, bytes, name) : first.In(bytes);
    }

    private ReadOnlySpan<byte> Join(RequestHead head, ReadOnlySpan<byte> bytes, FieldName name)
    {
        int start = _used;
        foreach (TextRange value in head.ValuesOf(name))
        {
            if (_used > start)
            {
                ", "u8.CopyTo(_memory.AsSpan(_used));
                _used += 2;
            }

            value.In(bytes).CopyTo(_memory.AsSpan(_used));
            _used += value.Length;
        }

        return _memory.AsSpan(start, _used - start);
    }
}
