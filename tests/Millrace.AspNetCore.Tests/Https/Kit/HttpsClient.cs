using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>A client by the byte behind TLS, for what an HTTP client would not do.</summary>
internal sealed class HttpsClient : IAsyncDisposable
{
    private readonly RawClient _raw;

    private HttpsClient(RawClient raw, SslStream stream)
    {
        _raw = raw;
        Stream = stream;
    }

    public SslStream Stream { get; }

    public Socket Socket => _raw.Socket;

    public static Task<HttpsClient> ConnectAsync(RunningApplication application, Action<SslClientAuthenticationOptions>? adjust = null) =>
        ConnectAsync(application.EndPoint, adjust);

    public static async Task<HttpsClient> ConnectAsync(EndPoint endPoint, Action<SslClientAuthenticationOptions>? adjust = null)
    {
        RawClient raw = await RawClient.ConnectAsync(endPoint);
        var stream = new SslStream(new NetworkStream(raw.Socket));
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            RemoteCertificateValidationCallback = static (_, certificate, _, _) => certificate is not null,
        };
        adjust?.Invoke(options);
        try
        {
            await stream.AuthenticateAsClientAsync(options).Within();
            return new HttpsClient(raw, stream);
        }
        catch
        {
            raw.Dispose();
            throw;
        }
    }

    public async Task SendAsync(string text)
    {
        await Stream.WriteAsync(Encoding.Latin1.GetBytes(text)).AsTask().Within();
        await Stream.FlushAsync().Within();
    }

    /// <summary>All up to and with the mark; what comes after it must not have come yet.</summary>
    public async Task<string> ReadThroughAsync(string mark)
    {
        var text = new StringBuilder();
        byte[] buffer = new byte[16_384];
        while (!text.ToString().EndsWith(mark, StringComparison.Ordinal))
        {
            int count = await Stream.ReadAsync(buffer).Within();
            Assert.True(count > 0, $"The server closed after '{text}'.");
            text.Append(Encoding.Latin1.GetString(buffer, 0, count));
        }

        return text.ToString();
    }

    /// <summary>All there is; null where it did not end in order.</summary>
    public async Task<string?> ReadToEndAsync()
    {
        using var all = new MemoryStream();
        try
        {
            await Stream.CopyToAsync(all).Within();
            return Encoding.Latin1.GetString(all.ToArray());
        }
        catch (IOException)
        {
            return null;
        }
    }

    /// <summary>Why a handshake fails.</summary>
    public static async Task<Exception> RefusedAsync(RunningApplication application, Action<SslClientAuthenticationOptions> adjust)
    {
        Exception? refusal = await Record.ExceptionAsync(async () =>
        {
            await using HttpsClient client = await ConnectAsync(application, adjust);
            // By TLS 1.3 the client is done first, and hears of it later.
            await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
            string? response = await client.ReadToEndAsync();
            if (string.IsNullOrEmpty(response))
            {
                throw new AuthenticationException("The connection ended without an answer.");
            }
        });
        return Assert.IsType<Exception>(refusal, exactMatch: false);
    }

    public async ValueTask DisposeAsync()
    {
        await Stream.DisposeAsync();
        _raw.Dispose();
    }
}
