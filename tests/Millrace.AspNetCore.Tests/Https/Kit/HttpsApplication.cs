using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>Applications that serve https, which differ in nothing but in who terminates it.</summary>
internal static class HttpsApplication
{
    /// <param name="kind">Who does.</param>
    /// <param name="response">What is done with each request.</param>
    /// <param name="https">Options, in the words that both have.</param>
    /// <param name="endpoint">Protocols, and connection middleware behind TLS.</param>
    public static Task<RunningApplication> StartAsync(
        HttpsKind kind,
        RequestDelegate response,
        Action<HttpsConnectionAdapterOptions>? https = null,
        Action<ListenOptions>? endpoint = null) => RunningApplication.StartAsync(
            kind.Transport(),
            response,
            static limits => limits.MaxRequestBodySize = null,
            listen =>
            {
                listen.UseHttps(kind, options =>
                {
                    options.ServerCertificate = Certificates.Server;
                    https?.Invoke(options);
                });
                endpoint?.Invoke(listen);
            });

    public static void UseHttps(this ListenOptions listen, HttpsKind kind, Action<HttpsConnectionAdapterOptions> options)
    {
        if (kind == HttpsKind.Kestrel)
        {
            listen.UseHttps(options);
        }
        else
        {
            listen.UseMillraceHttps(options);
        }
    }
}
