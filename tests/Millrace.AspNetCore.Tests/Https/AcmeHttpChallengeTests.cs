using System.Net;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Https.Acme;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>An authority's validations by HTTP-01.</summary>
public class AcmeHttpChallengeTests
{
    private const string Folder = "/.well-known/acme-challenge/";

    private static readonly RequestDelegate Application = static context =>
    {
        context.Response.StatusCode = StatusCodes.Status403Forbidden;
        return context.Response.WriteAsync("application");
    };

    [Theory, EachTransport]
    public async Task An_open_challenge_is_answered_before_the_application(TransportKind transport)
    {
        using var folder = new AcmeFolder();
        await using RunningApplication application = await StartAsync(
            transport, listen => listen.UseAcme(TlsOf(transport), folder.Options("a.example")));
        application.Services.GetRequiredService<ObtainedCertificates>().Challenges!.AddHttp("token_1", "token_1.thumbprint");
        using HttpClient client = application.NewClient();

        using HttpResponseMessage answer = await client.GetAsync(Folder + "token_1");
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal("application/octet-stream", answer.Content.Headers.ContentType?.ToString());
        Assert.Equal("token_1.thumbprint", await answer.Content.ReadAsStringAsync());

        using HttpResponseMessage head = await client.SendAsync(new HttpRequestMessage(HttpMethod.Head, Folder + "token_1"));
        Assert.Equal((HttpStatusCode.OK, 18), (head.StatusCode, head.Content.Headers.ContentLength));
    }

    [Theory, EachTransport]
    public async Task A_challenge_of_another_process_on_the_folder_is_answered(TransportKind transport)
    {
        using var folder = new AcmeFolder();
        await using RunningApplication application = await StartAsync(
            transport, listen => listen.UseAcme(TlsOf(transport), folder.Options("a.example")));
        using HttpClient client = application.NewClient();
        Assert.Equal(HttpStatusCode.Forbidden, (await client.GetAsync(Folder + "token_1")).StatusCode);

        folder.OpenChallenge("token_1", "token_1.thumbprint");
        Assert.Equal("token_1.thumbprint", await client.GetStringAsync(Folder + "token_1"));

        if (transport == TransportKind.Millrace)
        {
            string thumbprint = folder.OpenTlsChallenge("a.example");
            await using HttpsClient validation = await HttpsClient.ConnectAsync(
                new IPEndPoint(IPAddress.Loopback, new Uri(application.Addresses[1]).Port),
                static options =>
                {
                    options.TargetHost = "a.example";
                    options.ApplicationProtocols = [new SslApplicationProtocol("acme-tls/1")];
                });
            Assert.Equal(thumbprint, new X509Certificate2(validation.Stream.RemoteCertificate!).Thumbprint);
        }
    }

    [Theory, EachTransport]
    public async Task What_is_no_open_challenge_is_the_applications(TransportKind transport)
    {
        using var folder = new AcmeFolder();
        await using RunningApplication application = await StartAsync(
            transport, listen => listen.UseAcme(TlsOf(transport), folder.Options("a.example")));
        application.Services.GetRequiredService<ObtainedCertificates>().Challenges!.AddHttp("token_1", "token_1.thumbprint");
        using HttpClient client = application.NewClient();

        foreach (string path in (string[])["token_2", "", "token_1/", "token_1x", "x/token_1", "%74oken_2"])
        {
            Assert.Equal(HttpStatusCode.Forbidden, (await client.GetAsync(Folder + path)).StatusCode);
        }

        Assert.Equal(HttpStatusCode.Forbidden, (await client.GetAsync("/token_1")).StatusCode);
        Assert.Equal(HttpStatusCode.Forbidden, (await client.PostAsync(Folder + "token_1", content: null)).StatusCode);
    }

    [Theory, EachTransport]
    public async Task An_application_that_obtains_nothing_has_the_path_for_itself(TransportKind transport)
    {
        await using RunningApplication application = await StartAsync(transport, static _ => { });
        using HttpClient client = application.NewClient();

        Assert.Equal(HttpStatusCode.Forbidden, (await client.GetAsync(Folder + "token_1")).StatusCode);
    }

    private static AcmeTls TlsOf(TransportKind transport) =>
        transport == TransportKind.Sockets ? AcmeTls.Kestrel : AcmeTls.Millrace;

    /// <summary>A plain endpoint, and another one.</summary>
    private static Task<RunningApplication> StartAsync(TransportKind transport, Action<ListenOptions> second) =>
        RunningApplication.StartAsync(
            transport,
            Application,
            endpoints: kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.Loopback, 0, second);
            },
            host: static host => host.ConfigureServices(static services => services.AddMillraceAcme()));
}
