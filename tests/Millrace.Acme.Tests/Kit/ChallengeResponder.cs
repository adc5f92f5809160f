using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Microsoft.AspNetCore.Http;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Tests.Kit;

/// <summary>Answers HTTP-01 and TLS-ALPN-01 on 127.0.0.1, as the servers of a site would.</summary>
internal sealed class ChallengeResponder : IAsyncDisposable
{
    private const string Path = "/.well-known/acme-challenge/";

    private static readonly SslApplicationProtocol AcmeTls = new("acme-tls/1");

    private readonly ConcurrentDictionary<string, string> _http = [];
    private readonly ConcurrentDictionary<string, X509Certificate2> _tls = [];
    private readonly CancellationTokenSource _end = new();
    private readonly ChallengeTable? _table;
    private readonly TcpListener _listener;
    private readonly Task _accepting;
    private LoopbackServer? _server;

    private ChallengeResponder(IPAddress address, int tlsPort, ChallengeTable? table)
    {
        _table = table;
        _listener = new TcpListener(address, tlsPort);
        _listener.Start();
        _accepting = AcceptAsync();
    }

    /// <param name="httpPort">Of the site.</param>
    /// <param name="tlsPort">Of the site.</param>
    /// <param name="table">A manager's, which is asked for what was not added here.</param>
    /// <param name="address">Of this machine; null for 127.0.0.1.</param>
    public static async Task<ChallengeResponder> StartAsync(
        int httpPort, int tlsPort, ChallengeTable? table = null, IPAddress? address = null)
    {
        var responder = new ChallengeResponder(address ?? IPAddress.Loopback, tlsPort, table);
        responder._server = await LoopbackServer.StartAsync(address ?? IPAddress.Loopback, httpPort, responder.AnswerAsync);
        return responder;
    }

    public void AddHttp(string token, KeyAuthorization authorization) => _http[token] = authorization.Text;

    /// <param name="name">As the client's SNI.</param>
    /// <param name="identifier">What is validated.</param>
    /// <param name="authorization">Its digest goes into the certificate.</param>
    public void AddTls(string name, AcmeIdentifier identifier, KeyAuthorization authorization) =>
        _tls[name] = CertificateFor(identifier, authorization.Digest);

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting;
        _listener.Dispose();
        await _server!.DisposeAsync();
        _end.Dispose();
    }

    private async Task AnswerAsync(HttpContext context)
    {
        string path = context.Request.Path.Value!;
        if (path.StartsWith(Path, StringComparison.Ordinal) && _http.TryGetValue(path[Path.Length..], out string? authorization))
        {
            await context.Response.WriteAsync(authorization);
        }
        else if (path.StartsWith(Path, StringComparison.Ordinal) && _table is not null
            && await _table.FindKeyAuthorizationAsync(path[Path.Length..]) is { IsEmpty: false } found)
        {
            await context.Response.WriteAsync(Encoding.ASCII.GetString(found.Span));
        }
        else
        {
            context.Response.StatusCode = 404;
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                using Socket socket = await _listener.AcceptSocketAsync(_end.Token);
                await HandshakeAsync(socket);
            }
        }
        catch (OperationCanceledException)
        {
            // The end.
        }
    }

    private async Task HandshakeAsync(Socket socket)
    {
        using var tls = new SslStream(new NetworkStream(socket));
        try
        {
            await tls.AuthenticateAsServerAsync(
                async (_, hello, _, _) => new SslServerAuthenticationOptions
                {
                    ApplicationProtocols = [AcmeTls],
                    ServerCertificate =
                        _table is not null && await _table.FindCertificateAsync(hello.ServerName) is { } found
                            ? X509CertificateLoader.LoadPkcs12(found.Export(X509ContentType.Pkcs12), password: null)
                            : _tls[hello.ServerName],
                },
                null,
                _end.Token);
        }
        catch (Exception e) when (e is AuthenticationException or IOException or KeyNotFoundException)
        {
            // The validation fails.
        }
    }

    /// <summary>RFC 8737, section 3.</summary>
    private static X509Certificate2 CertificateFor(AcmeIdentifier identifier, byte[] digest)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=challenge", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        if (identifier.Type == "ip")
        {
            names.AddIpAddress(IPAddress.Parse(identifier.Value));
        }
        else
        {
            names.AddDnsName(identifier.Value);
        }

        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509Extension("1.3.6.1.5.5.7.1.31", [0x04, 0x20, .. digest], critical: true));
        return request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
    }
}
