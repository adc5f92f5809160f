using System.Diagnostics;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Security;
using System.Net.Sockets;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;

namespace Millrace.Acme.Protocol;

/// <summary>
/// HTTP to a certificate authority. Every answer comes back, whatever its status; where none comes, or one without an end, an
/// <see cref="AcmeException"/> is thrown. Any thread.
/// </summary>
internal sealed partial class AcmeChannel : IDisposable
{
    /// <summary>Until the answer is complete. Some authorities issue a certificate while the client waits.</summary>
    public static readonly TimeSpan RequestTimeout = TimeSpan.FromSeconds(60);

    /// <summary>Let's Encrypt's longest limit is one week.</summary>
    public static readonly TimeSpan RetryAfterMax = TimeSpan.FromDays(7);

    /// <summary>For one address, so that a network without IPv6, or without IPv4, is found out in time to try the other.</summary>
    private static readonly TimeSpan ConnectTimeout = TimeSpan.FromSeconds(5);

    private const int RedirectsMax = 5;
    private const int ContentBytesFirst = 4096;

    private readonly HttpClient _http;
    private readonly Uri _directory;
    private readonly TimeProvider _clock;
    private readonly ILogger _log;

    /// <param name="directory">Decides which URLs are requested.</param>
    /// <param name="roots">Whom the server's certificate has to come from; null for those that the system trusts.</param>
    /// <param name="clock">For timeouts, and for the waits that the server asks for.</param>
    /// <param name="log">Receives every request, for debugging.</param>
    public AcmeChannel(Uri directory, X509Certificate2Collection? roots, TimeProvider clock, ILogger log)
    {
        _directory = directory;
        _clock = clock;
        _log = log;
        _http = new HttpClient(HandlerOf(directory, roots)) { Timeout = Timeout.InfiniteTimeSpan };
        _http.DefaultRequestHeaders.UserAgent.ParseAdd(UserAgent());
        _http.DefaultRequestHeaders.AcceptLanguage.ParseAdd("en");
    }

    public void Dispose() => _http.Dispose();

    public async Task<AcmeResponse> SendAsync(AcmeRequest request, CancellationToken cancel)
    {
        using var timeout = new CancellationTokenSource(RequestTimeout, _clock);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancel, timeout.Token);
        try
        {
            return await FollowAsync(request, either.Token);
        }
        catch (OperationCanceledException e) when (timeout.IsCancellationRequested && !cancel.IsCancellationRequested)
        {
            throw AcmeErrors.Unanswered(request, $"not within {AcmeText.Describe(RequestTimeout)}", e);
        }
        catch (Exception e) when (e is HttpRequestException or IOException or SocketException or UriFormatException or NotSupportedException
            || (e is InvalidOperationException and not ObjectDisposedException))
        {
            throw AcmeErrors.Unanswered(request, e);
        }
    }

    /// <summary>Follows redirections of what is not signed: a signature is for one URL only.</summary>
    private async Task<AcmeResponse> FollowAsync(AcmeRequest request, CancellationToken cancel)
    {
        for (int redirects = 0; ; redirects++)
        {
            AcmeResponse response = await ExchangeAsync(request, cancel);
            if (response.Status is not (301 or 302 or 303 or 307 or 308) || request.Method == HttpMethod.Post || redirects == RedirectsMax
                || response.Location is not { } target || !AcmeFields.IsAllowed(target, _directory))
            {
                return response;
            }

            request = request with { Url = target };
        }
    }

    private async Task<AcmeResponse> ExchangeAsync(AcmeRequest request, CancellationToken cancel)
    {
        long begin = Stopwatch.GetTimestamp();
        using HttpRequestMessage message = MessageOf(request);
        using HttpResponseMessage answer = await _http.SendAsync(message, HttpCompletionOption.ResponseHeadersRead, cancel);
        byte[] body = await ReadAsync(request, answer.Content, cancel);
        double milliseconds = Stopwatch.GetElapsedTime(begin).TotalMilliseconds;
        LogRequest(request.Method.Method, request.Url.AbsoluteUri, (int)answer.StatusCode, milliseconds);
        return new AcmeResponse
        {
            Request = request,
            Status = (int)answer.StatusCode,
            Body = body,
            MediaType = MediaTypeOf(answer.Content.Headers),
            Nonce = answer.Headers.TryGetValues("Replay-Nonce", out IEnumerable<string>? nonces) ? nonces.First() : null,
            Location = Resolve(request.Url, answer.Headers.Location),
            Alternates = answer.Headers.TryGetValues("Link", out IEnumerable<string>? links)
                ? LinkHeader.Targets(links, "alternate", request.Url)
                : [],
            RetryAfter = RetryAfterOf(answer.Headers.RetryAfter),
        };
    }

    private static HttpRequestMessage MessageOf(AcmeRequest request)
    {
        var message = new HttpRequestMessage(request.Method, request.Url);
        message.Headers.Accept.ParseAdd(request.Accept);
        message.Headers.Accept.ParseAdd("application/problem+json");
        if (request.Body is { } body)
        {
            message.Content = new ByteArrayContent(body);
            message.Content.Headers.ContentType = new MediaTypeHeaderValue("application/jose+json");
        }

        return message;
    }

    private static async Task<byte[]> ReadAsync(AcmeRequest request, HttpContent content, CancellationToken cancel)
    {
        using Stream stream = await content.ReadAsStreamAsync(cancel);
        byte[] buffer = new byte[ContentBytesFirst];
        for (int length = 0; ;)
        {
            int read = await stream.ReadAsync(buffer.AsMemory(length), cancel);
            length += read;
            if (length > request.BytesMax)
            {
                throw AcmeErrors.Malformed(request, $"the answer is longer than {request.BytesMax / 1024} KiB");
            }

            if (read == 0)
            {
                return buffer[..length];
            }

            if (length == buffer.Length)
            {
                Array.Resize(ref buffer, buffer.Length * 2);
            }
        }
    }

    /// <summary>Of a header that is not in its form too: a server's own error page often has one.</summary>
    private static string MediaTypeOf(HttpContentHeaders headers) =>
        headers.ContentType?.MediaType?.ToLowerInvariant()
        ?? (headers.TryGetValues("Content-Type", out IEnumerable<string>? values) ? AcmeText.Clean(values.First()) : "");

    private static Uri? Resolve(Uri from, Uri? target) =>
        target is null ? null : target.IsAbsoluteUri ? target : Uri.TryCreate(from, target, out Uri? absolute) ? absolute : null;

    private TimeSpan? RetryAfterOf(RetryConditionHeaderValue? header)
    {
        TimeSpan? wait = header?.Delta ?? (header?.Date is { } date ? date - _clock.GetUtcNow() : null);
        return wait is { } time ? TimeSpan.FromTicks(Math.Clamp(time.Ticks, 0, RetryAfterMax.Ticks)) : null;
    }

    private static SocketsHttpHandler HandlerOf(Uri directory, X509Certificate2Collection? roots)
    {
        var handler = new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = !directory.IsLoopback,
            PooledConnectionLifetime = TimeSpan.FromMinutes(5),
            ConnectCallback = ConnectAsync,
        };
        if (roots is not null)
        {
            var policy = new X509ChainPolicy
            {
                TrustMode = X509ChainTrustMode.CustomRootTrust,
                RevocationMode = X509RevocationMode.NoCheck,
            };
            policy.CustomTrustStore.AddRange(roots);
            handler.SslOptions = new SslClientAuthenticationOptions { CertificateChainPolicy = policy };
        }

        return handler;
    }

    /// <summary>One address after the other, in the system's order. The last error is thrown.</summary>
    private static async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken cancel)
    {
        string host = context.DnsEndPoint.Host;
        IPAddress[] addresses = await Dns.GetHostAddressesAsync(host, cancel);
        Exception failure = new SocketException((int)SocketError.HostNotFound);
        foreach (IPAddress address in addresses)
        {
            using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancel);
            timeout.CancelAfter(ConnectTimeout);
            var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            try
            {
                await socket.ConnectAsync(new IPEndPoint(address, context.DnsEndPoint.Port), timeout.Token);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch (OperationCanceledException) when (!cancel.IsCancellationRequested)
            {
                failure = new IOException($"{address} is not reached within {AcmeText.Describe(ConnectTimeout)}");
            }
            catch (SocketException e)
            {
                failure = new IOException($"{e.Message} ({new IPEndPoint(address, context.DnsEndPoint.Port)})");
            }
            finally
            {
                if (!socket.Connected)
                {
                    socket.Dispose();
                }
            }
        }

        throw failure;
    }

    /// <summary>Client and HTTP library, as RFC 8555, section 6.1 wants it; without the commit, which nobody needs to know.</summary>
    private static string UserAgent()
    {
        var version = typeof(AcmeChannel).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>();
        string own = version?.InformationalVersion.Split('+')[0] ?? "0";
        return $"Millrace-Acme/{own} dotnet/{Environment.Version} ({RuntimeInformation.RuntimeIdentifier})";
    }

    [LoggerMessage(1, LogLevel.Debug, "{Method} {Url}: {Status} after {Milliseconds:0} ms.")]
    private partial void LogRequest(string method, string url, int status, double milliseconds);
}
