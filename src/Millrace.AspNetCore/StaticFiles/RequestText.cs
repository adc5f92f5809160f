using System.Text;
using Microsoft.Extensions.Primitives;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Converts a request's strings back to the bytes that the planner reads. The lines of one field are joined by a comma (RFC 9110, section
/// 5.3). Added text stays valid until the next <see cref="Reset"/>.
/// </summary>
internal sealed class RequestText
{
    /// <summary>Memory kept for the next request: Kestrel's limit for a whole head.</summary>
    private const int KeptBytesMax = 32 * 1024;

    private byte[] _memory = new byte[4 * 1024];
    private int _used;

    public void Reset()
    {
        _used = 0;
        if (_memory.Length > KeptBytesMax)
        {
            _memory = new byte[KeptBytesMax];
        }
    }

    public ReadOnlySpan<byte> Add(ReadOnlySpan<char> text)
    {
        if (text.IsEmpty)
        {
            return default;
        }

        Span<byte> room = Reserve(Encoding.UTF8.GetMaxByteCount(text.Length));
        int bytes = Encoding.UTF8.GetBytes(text, room);
        _used -= room.Length - bytes;
        return room[..bytes];
    }

    /// <summary>Adds the value of a field; empty if it is absent.</summary>
    public ReadOnlySpan<byte> Add(StringValues field) => field.Count switch
    {
        0 => default,
        1 => Add(field[0].AsSpan()),
        _ => Add(string.Join(", ", (string?[])field!).AsSpan()),
    };

    /// <summary>Memory for the caller to write to.</summary>
    public Span<byte> Reserve(int bytes)
    {
        if (_memory.Length - _used < bytes)
        {
            // Earlier text stays valid in the old memory, which its readers reference.
            _memory = new byte[Math.Max(_memory.Length * 2, bytes)];
            _used = 0;
        }

        Span<byte> room = _memory.AsSpan(_used, bytes);
        _used += bytes;
        return room;
    }
}
