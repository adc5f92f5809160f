using System.Buffers.Text;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Millrace.Http;
using Millrace.Interop;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// The Sec-WebSocket-Key of this server's own handshake with an upstream (RFC 6455, section 4.1), for clients of HTTP/2, which have none
/// (RFC 8441, section 5).
/// </summary>
internal struct WebSocketKey
{
    private const int RandomBytes = 16;
    private const int KeyBytes = 24;
    private const int AcceptBytes = 28;

    private Text _text;

    [UnscopedRef]
    public readonly ReadOnlySpan<byte> Value => _text;

    private static ReadOnlySpan<byte> Guid => "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"u8;

    public static WebSocketKey Next()
    {
        Span<byte> random = stackalloc byte[RandomBytes];
        KernelRandom.Fill(random);
        WebSocketKey key = default;
        _ = Base64.EncodeToUtf8(random, key._text, out _, out int written);
        Debug.Assert(written == KeyBytes);
        return key;
    }

    /// <summary>Whether a response proves that its server has understood the key (section 4.2.2).</summary>
    public readonly bool IsAccepted(ResponseHead head, ReadOnlySpan<byte> bytes)
    {
        Span<byte> text = stackalloc byte[KeyBytes + Guid.Length];
        Value.CopyTo(text);
        Guid.CopyTo(text[KeyBytes..]);
        Span<byte> hash = stackalloc byte[Sha1.HashBytes];
        Sha1.Hash(text, hash);
        Span<byte> accept = stackalloc byte[AcceptBytes];
        _ = Base64.EncodeToUtf8(hash, accept, out _, out _);
        return head.Fields.TryFind(bytes, "sec-websocket-accept"u8, out ReadOnlySpan<byte> value) && value.SequenceEqual(accept);
    }

    [InlineArray(KeyBytes)]
    private struct Text
    {
        private byte _first;
    }
}
