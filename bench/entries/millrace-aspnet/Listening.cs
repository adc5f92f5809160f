using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.Engine;
using Millrace.Tls;

namespace Millrace.Arena;

/// <summary>The transport and the addresses of the board's protocols. On sockets, for comparison, TLS is Kestrel's own.</summary>
internal static class Listening
{
    public static void Use(IWebHostBuilder host, ArenaSettings settings)
    {
        bool isMillrace = UseTransport(host, settings);
        host.UseKestrelHttpsConfiguration().ConfigureKestrel(kestrel =>
        {
            kestrel.AddServerHeader = false;
            Listen(kestrel, settings, settings.HttpPort, settings.IsGrpc ? HttpProtocols.Http2 : HttpProtocols.Http1);
            Listen(kestrel, settings, settings.H2cPort, HttpProtocols.Http2);
            ListenTls(kestrel, settings, settings.HttpsPort, HttpProtocols.Http1, isMillrace);
            ListenTls(kestrel, settings, settings.Http2Port, HttpProtocols.Http1AndHttp2, isMillrace);
        });
    }

    private static bool UseTransport(IWebHostBuilder host, ArenaSettings settings)
    {
        switch (settings.Transport)
        {
            case "millrace":
                host.UseMillrace(transport =>
                {
                    transport.ReactorCount = settings.Reactors;
                    transport.Backend = settings.Backend switch
                    {
                        "auto" => BackendKind.Auto,
                        "io_uring" => BackendKind.IoUring,
                        "epoll" => BackendKind.Epoll,
                        string other => throw new InvalidOperationException($"ARENA_BACKEND is '{other}': auto, io_uring or epoll."),
                    };
                });
                return true;
            case "sockets":
                return false;
            case "sockets-inline":
                host.UseSockets(static sockets => sockets.UnsafePreferInlineScheduling = true);
                return false;
            default:
                throw new InvalidOperationException(
                    $"ARENA_TRANSPORT is '{settings.Transport}': millrace, sockets or sockets-inline.");
        }
    }

    private static void Listen(KestrelServerOptions kestrel, ArenaSettings settings, int port, HttpProtocols protocols) =>
        kestrel.Listen(settings.Address, port, endpoint => endpoint.Protocols = protocols);

    private static void ListenTls(
        KestrelServerOptions kestrel, ArenaSettings settings, int port, HttpProtocols protocols, bool isMillrace) =>
        kestrel.Listen(settings.Address, port, endpoint =>
        {
            endpoint.Protocols = protocols;
            if (isMillrace)
            {
                // From files, so that a renewed certificate is noticed.
                endpoint.UseMillraceHttps(https => https.Certificates.Add(new CertificateFiles(settings.Certificate, settings.Key)));
            }
            else
            {
                using X509Certificate2 loaded = X509Certificate2.CreateFromPemFile(settings.Certificate, settings.Key);
                // SslStream wants a key that was loaded with its certificate.
                endpoint.UseHttps(X509CertificateLoader.LoadPkcs12(loaded.Export(X509ContentType.Pkcs12), password: null));
            }
        });
}
