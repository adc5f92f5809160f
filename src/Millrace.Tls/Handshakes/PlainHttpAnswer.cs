using System.Text;

namespace Millrace.Tls.Handshakes;

/// <summary>What a client is told that speaks HTTP where TLS is spoken: it would wait for an alert that it cannot read.</summary>
internal static class PlainHttpAnswer
{
    private const string Text = "This port speaks HTTPS: write https:// in front of the address.\n";

    private static readonly byte[] All = Encoding.ASCII.GetBytes(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        + $"Content-Length: {Text.Length}\r\nConnection: close\r\n\r\n{Text}");

    public static ReadOnlySpan<byte> Bytes => All;
}
