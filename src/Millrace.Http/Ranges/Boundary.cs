using System.Buffers.Text;
using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;

namespace Millrace.Http;

/// <summary>
/// Makes the boundaries of multipart bodies (RFC 2046, section 5.1.1): random, so that no file can contain one on purpose, and new for each
/// response. One per thread.
/// </summary>
internal sealed class Boundary
{
    public const int Bytes = 32;

    private const int CounterBytes = 16;

    /// <summary>Characters of six bits in HPACK's code (RFC 7541, appendix B), so that the length of a head does not vary.</summary>
    private const string Digits = "3456789bdfghlmnp";

    private readonly byte[] _text = new byte[Bytes];
    private ulong _next;

    public Boundary() => Encoding.ASCII.GetBytes(RandomNumberGenerator.GetString(Digits, Bytes - CounterBytes), _text);

    /// <summary>The text of a new boundary, which the caller owns.</summary>
    public byte[] Next()
    {
        bool formatted = Utf8Formatter.TryFormat(_next++, _text.AsSpan(Bytes - CounterBytes), out int count, new('x', CounterBytes));
        Debug.Assert(formatted && count == CounterBytes);
        return _text.AsSpan().ToArray();
    }
}
