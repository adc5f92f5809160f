using System.Text;
using Microsoft.Extensions.Primitives;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Texts of a request as bytes again, as the planner reads them: servers give strings. The lines of one field are joined by a comma (RFC
/// 9110, section 5.3). What was added holds until the next <see cref="Reset"/>.
/// </summary>
internal sealed class RequestText
{
    /// <summary>What is kept for the next request: as much as Kestrel takes for a whole head.</summary>
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

    /// <summary>The value of a field; empty where it is absent.</summary>
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
            // What was added before stays valid where it is: its readers hold the old memory.
            _memory = new byte[Math.Max(_memory.Length * 2, bytes)];
            _used = 0;
        }

        Span<byte> room = _memory.AsSpan(_used, bytes);
        _used += bytes;
        return room;
    }
}
