using System.Net.Security;
using System.Security.Authentication;

namespace Millrace.Server.Tests.Kit;

/// <summary>What a client of TLS says first, by .NET's.</summary>
internal static class ClientHello
{
    public static byte[] Bytes { get; } = Capture();

    private static byte[] Capture()
    {
        using var sent = new SentBytes();
        using var client = new SslStream(sent);
        Assert.ThrowsAny<Exception>(() => client.AuthenticateAsClient(new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            EnabledSslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13,
        }));
        return sent.ToArray();
    }

    /// <summary>Nobody answers.</summary>
    private sealed class SentBytes : MemoryStream
    {
        public override int Read(Span<byte> buffer) => 0;

        public override int Read(byte[] buffer, int offset, int count) => 0;

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) => new(0);
    }
}
