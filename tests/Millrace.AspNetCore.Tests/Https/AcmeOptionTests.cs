using System.Net;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Hosting;
using Millrace.Acme;
using Millrace.AspNetCore.Https.Acme;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Where the options of obtained certificates come from, and what wrong ones do.</summary>
public class AcmeOptionTests
{
    public static TheoryData<string, Action<MillraceAcmeOptions>> Mistakes => new()
    {
        { "Domains", static acme => acme.Domains.Clear() },
        { "'not a host'", static acme => acme.Domains.Add("not a host") },
        { "DNS hook", static acme => acme.Domains.Add("*.a.example") },
        { "no-such-roots.pem", static acme => acme.RootsFile = "no-such-roots.pem" },
        { "chmod o-w", static acme => MakeWritable(acme.Directory!) },
    };

    [Theory, MemberData(nameof(Mistakes))]
    public async Task Wrong_options_fail_the_start_and_say_what_to_do(string named, Action<MillraceAcmeOptions> mistake)
    {
        foreach (AcmeTls kind in Enum.GetValues<AcmeTls>())
        {
            using var folder = new AcmeFolder();
            var refusal = await Assert.ThrowsAsync<AcmeConfigurationException>(() => AcmeApplication.StartAsync(
                kind, folder.Options("a.example") + mistake, folder.Clock));
            Assert.Contains(named, refusal.Message, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData(AcmeTls.Kestrel, false, false, true)]
    [InlineData(AcmeTls.InPlaceOfMillrace, false, false, true)]
    [InlineData(AcmeTls.Kestrel, true, false, false)]
    [InlineData(AcmeTls.Kestrel, false, true, false)]
    [InlineData(AcmeTls.Millrace, false, false, false)]
    public async Task Where_no_endpoint_answers_validations_the_log_says_so(AcmeTls kind, bool hasPlain, bool hasHook, bool isWarned)
    {
        using var folder = new AcmeFolder();
        Action<MillraceAcmeOptions> acme = folder.Options("a.example") + (options => options.DnsHook = hasHook ? "true" : null);
        await using RunningApplication application = await AcmeApplication.StartAsync(kind, acme, folder.Clock, services: null, kestrel =>
        {
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseAcme(kind, acme));
            if (hasPlain)
            {
                kestrel.Listen(IPAddress.Loopback, 0);
            }
        });
        Assert.Equal(isWarned, application.Log.Has("NoPlainEndPoint"));
        if (isWarned)
        {
            Assert.Contains("a.example", (await application.Log.ExpectAsync("NoPlainEndPoint")).Text, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Without_the_services_an_endpoint_says_which_call_is_missing()
    {
        var refusal = await Assert.ThrowsAsync<InvalidOperationException>(() => RunningApplication.StartAsync(
            TransportKind.Sockets, static _ => Task.CompletedTask, endpoint: static listen => listen.UseAcmeHttps()));
        Assert.Contains("AddMillraceAcme", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Endpoints_add_to_what_is_registered_and_share_all()
    {
        using var folder = new AcmeFolder();
        var settings = new ConfigurationManager
        {
            ["Acme:Email"] = "you@example.org",
            ["Acme:Server"] = "https://ca.example/directory",
            ["Acme:KeyKinds"] = "P256, Rsa2048",
            ["Acme:Domains:0"] = "registered.example",
            ["Acme:ExternalAccount:KeyId"] = "id",
            ["Acme:ExternalAccount:HmacKey"] = "a2V5",
        };
        MillraceAcmeOptions? seen = null;
        await using RunningApplication application = await AcmeApplication.StartAsync(
            AcmeTls.Millrace,
            folder.Options(),
            folder.Clock,
            services => services.Configure<MillraceAcmeOptions>(settings.GetSection("Acme")),
            kestrel =>
            {
                Listen(folder.Options("a.example", "b.example, c.example"));
                Listen(folder.Options("A.example"));
                Listen(acme => seen = acme);
                void Listen(Action<MillraceAcmeOptions> acme) =>
                    kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseAcme(AcmeTls.Millrace, acme));
            });

        Assert.NotNull(seen);
        Assert.Equal(("you@example.org", "https://ca.example/directory"), (seen.Email, seen.Server.ToString()));
        Assert.Equal(new ExternalAccount("id", "a2V5"), seen.ExternalAccount);

        // One for each kind of key.
        string[] names = ["registered.example", "a.example", "b.example,c.example"];
        Assert.Equal(
            names.SelectMany(static one => new[] { one, one }),
            application.Services.GetRequiredService<ObtainedCertificates>().Certificates.Select(static one => string.Join(',', one.Names)));
    }

    [Fact]
    public void The_folder_is_the_units_or_else_the_applications_in_the_users_data()
    {
        var acme = new MillraceAcmeOptions { Domains = { "a.example" } };
        var folders = new ApplicationFolders(new Host { ApplicationName = "My.Application", ContentRootPath = "/srv/app" });
        string data = Environment.GetFolderPath(
            Environment.SpecialFolder.LocalApplicationData, Environment.SpecialFolderOption.DoNotVerify);
        Assert.Equal(Path.Combine(data, "millrace/aspnetcore/My.Application"), acme.ToOptions(folders).Directory);

        string? before = Environment.GetEnvironmentVariable("STATE_DIRECTORY");
        Environment.SetEnvironmentVariable("STATE_DIRECTORY", "/var/lib/app:/var/lib/other");
        try
        {
            Assert.Equal("/var/lib/app/acme", acme.ToOptions(folders).Directory);
        }
        finally
        {
            Environment.SetEnvironmentVariable("STATE_DIRECTORY", before);
        }

        acme.Directory = "certificates";
        acme.DnsHook = "./hook";
        Assert.Equal("/srv/app/certificates", acme.ToOptions(folders).Directory);
        Assert.Equal("/srv/app/./hook", acme.ToOptions(folders).DnsHook);
    }

    private static void MakeWritable(string folder) =>
#pragma warning disable CA1416 // The suite runs only on Linux.
        File.SetUnixFileMode(folder, File.GetUnixFileMode(folder) | UnixFileMode.OtherWrite);
#pragma warning restore CA1416

    private sealed class Host : IHostEnvironment
    {
        public string EnvironmentName { get; set; } = "";

        public required string ApplicationName { get; set; }

        public required string ContentRootPath { get; set; }

        public IFileProvider ContentRootFileProvider { get; set; } = new NullFileProvider();
    }
}
