using System.Net;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Tests.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Https;

/// <summary>Certificates that the server obtains itself, from a real authority for tests, by the command line.</summary>
[SupportedOSPlatform("linux")]
public class AcmeTests
{
    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_new_server_serves_its_own_certificate_and_then_one_of_the_authority()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync(new PebbleOptions { RejectedNonces = 30 });
        await using ServerProcess server = await place.StartAsync(
            place.Flags("--domain", "site.test,www.site.test", "--domain", "shop.test"));
        Assert.Contains("Certificate for site.test, www.site.test is being obtained", server.Lines);
        await AcmePlace.ObtainedAsync(server, certificates: 2);

        using HttpClient client = await place.TrustingAsync();
        foreach (string host in (string[])["site.test", "www.site.test", "shop.test"])
        {
            Assert.Contains("Aldermere Mill", await client.GetStringAsync(new Uri($"https://{host}/"), Cancel), StringComparison.Ordinal);
        }

        using X509Certificate2 certificate = await place.CertificateAsync("shop.test");
        Assert.False(certificate.MatchesHostname("site.test"));
        using X509Certificate2 unknown = await place.CertificateAsync("other.test");
        Assert.True(unknown.MatchesHostname("site.test"));
        ToolResult modes = await Tool.RunAsync("find", place.State, "-type", "f", "!", "-perm", "600");
        Assert.Equal("", modes.Output);
    }

    [Fact]
    public async Task A_restart_and_a_reload_use_what_was_obtained()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        string[] flags = place.Flags("--domain", "site.test", "--admin", "127.0.0.1:0");
        await using (ServerProcess first = await place.StartAsync(flags))
        {
            await AcmePlace.ObtainedAsync(first);
            first.Signal(PosixSignal.SIGHUP);
            await first.AwaitErrorAsync("Certificates reloaded", times: 2);
            using X509Certificate2 kept = await place.CertificateAsync("site.test");
            Assert.StartsWith("CN=Pebble", kept.Issuer, StringComparison.Ordinal);
        }

        await using ServerProcess second = await place.StartAsync(flags);
        Assert.Contains(second.Lines, static line => line.StartsWith("Certificate for site.test is valid until ", StringComparison.Ordinal));
        using X509Certificate2 certificate = await place.CertificateAsync("site.test");
        Assert.StartsWith("CN=Pebble", certificate.Issuer, StringComparison.Ordinal);
        using var admin = new HttpClient();
        string metrics = await admin.GetStringAsync(new Uri(second.Admin, "/metrics"), Cancel);
        Assert.Contains("millrace_certificate_renewal_seconds{host=\"site.test\",key=\"p256\"} ", metrics, StringComparison.Ordinal);
        Assert.Contains("millrace_certificate_failures{host=\"site.test\",key=\"p256\"} 0", metrics, StringComparison.Ordinal);
        string stats = await admin.GetStringAsync(new Uri(second.Admin, "/stats.json"), Cancel);
        Assert.Contains("\"hosts\":\"site.test\"", stats, StringComparison.Ordinal);
        Assert.Contains("; renewal: 20", stats, StringComparison.Ordinal);
        Assert.Equal(1, place.Count("Issued certificate serial"));
    }

    [Fact]
    public async Task Names_that_are_grouped_otherwise_are_served_while_the_authority_is_away()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        await using (ServerProcess first = await place.StartAsync(place.Flags("--domain", "a.test,x.test", "--domain", "b.test")))
        {
            await AcmePlace.ObtainedAsync(first, certificates: 2);
        }

        string[] flags = place.Flags("--domain", "b.test,a.test");
        flags[Array.IndexOf(flags, "--acme-server") + 1] = "https://127.0.0.1:1/directory";
        await using ServerProcess second = await place.StartAsync(flags);
        await second.AwaitErrorAsync("No certificate for b.test, a.test: ");
        foreach (string host in (string[])["a.test", "b.test"])
        {
            using X509Certificate2 certificate = await place.CertificateAsync(host);
            Assert.StartsWith("CN=Pebble", certificate.Issuer, StringComparison.Ordinal);
            Assert.True(certificate.MatchesHostname(host));
        }
    }

    [Fact]
    public async Task Two_servers_of_other_names_on_one_folder_are_told_so()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        await using ServerProcess first = await place.StartAsync(place.Flags("--domain", "a.test"));
        await AcmePlace.ObtainedAsync(first);
        await using ServerProcess second = await place.StartAsync(
        [
            Places.SampleSite, "--https", "127.0.0.1:0", .. place.FlagsOfAuthority, "--domain", "b.test", "--admin", "127.0.0.1:0",
        ]);
        await second.AwaitErrorAsync("The certificate for b.test is neither obtained nor renewed.");
        Assert.Contains("Give this server a folder of its own", second.Said(), StringComparison.Ordinal);
        using var admin = new HttpClient();
        string metrics = await admin.GetStringAsync(new Uri(second.Admin, "/metrics"), Cancel);
        Assert.Contains("millrace_certificate_last_error{error=\"other\"", metrics, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_host_that_a_reload_adds_gets_a_certificate_and_one_that_cannot_have_any_is_refused()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        string file = place.Folder.PathOf("millrace.json");
        string[] flags =
        [
            "--listen", $"127.0.0.1:{place.Authority.HttpPort}", "--https", $"127.0.0.1:{place.Authority.TlsPort}",
            .. place.FlagsOfAuthority, "--config", file,
        ];
        Configure("a.test");
        await using ServerProcess server = await place.StartAsync(flags);
        await AcmePlace.ObtainedAsync(server);

        Configure("a.test", "*.b.test");
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync("A wildcard can be validated by DNS only");

        Configure("a.test", "b.test");
        server.Signal(PosixSignal.SIGHUP);
        await AcmePlace.ObtainedAsync(server, certificates: 2);
        using HttpClient client = await place.TrustingAsync();
        foreach (string host in (string[])["a.test", "b.test"])
        {
            Assert.Contains("Aldermere Mill", await client.GetStringAsync(new Uri($"https://{host}/"), Cancel), StringComparison.Ordinal);
        }

        Assert.Equal(2, place.Count("Issued certificate serial"));

        // A connection to one host is not for the other, as with certificates of the operator.
        Assert.Equal("HTTP/1.1 200 OK", await place.StatusLineAsync("a.test", host: "a.test"));
        Assert.Equal("HTTP/1.1 421 Misdirected Request", await place.StatusLineAsync("a.test", host: "b.test"));

        // No site may serve the keys.
        File.WriteAllText(file, $$"""{ "root": "{{place.Folder.Root}}", "hosts": { "a.test": "{{Places.SampleSite}}" } }""");
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync("among what is served");

        void Configure(params string[] hosts) => File.WriteAllText(file, $$"""
            { "root": "{{Places.SampleSite}}", "hosts": { {{string.Join(", ", hosts.Select(host => $"\"{host}\": \"{Places.SampleSite}\""))}} } }
            """);
    }

    [Fact]
    public async Task A_plain_address_answers_for_the_authority_before_passwords_and_redirects()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        Tool.Require("htpasswd");
        _ = await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(10), "htpasswd", "-bcB", place.Folder.PathOf("users"), "owner", "secret");
        await using ServerProcess server = await place.StartAsync(
        [
            Places.SampleSite, "--listen", $"127.0.0.1:{place.Authority.HttpPort}", "--https", $"unix:{place.Folder.PathOf("secure")}",
            .. place.FlagsOfAuthority, "--domain", "site.test", "--auth", place.Folder.PathOf("users"),
        ]);
        await AcmePlace.ObtainedAsync(server);
        Assert.Equal(1, server.CountErrors("http-01"));

        using var client = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false });
        var unknown = new Uri($"http://127.0.0.1:{place.Authority.HttpPort}/.well-known/acme-challenge/unknown");
        using HttpResponseMessage missing = await client.GetAsync(unknown, Cancel);
        Assert.Equal(HttpStatusCode.Unauthorized, missing.StatusCode);
    }

    [Fact]
    public async Task A_wildcard_is_validated_by_the_hook()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        string hook = place.Folder.PathOf("hook");
        await File.WriteAllTextAsync(hook,
            $$"""
            #!/bin/sh
            echo "$@" >> {{place.Folder.PathOf("calls")}}
            case $1 in
              present) exec curl -sf -d "{\"host\":\"$3.\",\"value\":\"$4\"}" {{place.Authority.DnsManagement}}set-txt ;;
              cleanup) exec curl -sf -d "{\"host\":\"$3.\"}" {{place.Authority.DnsManagement}}clear-txt ;;
            esac
            """, Cancel);
        Tool.Require("curl");
        File.SetUnixFileMode(hook, UnixFileMode.UserRead | UnixFileMode.UserExecute);
        await using ServerProcess server = await place.StartAsync(
            place.Flags("--domain", "*.site.test,site.test", "--acme-dns-hook", hook));
        await AcmePlace.ObtainedAsync(server);
        using X509Certificate2 certificate = await place.CertificateAsync("any.site.test");
        Assert.True(certificate.MatchesHostname("any.site.test"));
        string[] calls = await File.ReadAllLinesAsync(place.Folder.PathOf("calls"), Cancel);
        Assert.Contains(calls, static line => line.StartsWith("present site.test _acme-challenge.site.test ", StringComparison.Ordinal));
        Assert.Contains(calls, static line => line.StartsWith("cleanup site.test _acme-challenge.site.test ", StringComparison.Ordinal));
    }

    [Fact]
    public async Task An_authority_that_refuses_or_is_away_takes_no_site_down()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync(new PebbleOptions { Blocked = ["blocked.test"] });
        await using (ServerProcess refused = await place.StartAsync(place.Flags(
            "--domain", "blocked.test", "--acme-key", "both", "--admin", "127.0.0.1:0")))
        {
            await refused.AwaitErrorAsync("No certificate for blocked.test: ");
            await refused.AwaitErrorAsync("No certificate for blocked.test (RSA): ");
            Assert.Contains("rejectedIdentifier", refused.Said(), StringComparison.Ordinal);
            using X509Certificate2 own = await place.CertificateAsync("blocked.test");
            Assert.True(own.MatchesHostname("localhost"));
            using var admin = new HttpClient();
            using HttpResponseMessage ready = await admin.GetAsync(new Uri(refused.Admin, "/readyz"), Cancel);
            Assert.Equal(HttpStatusCode.OK, ready.StatusCode);
            string[] lines = (await ready.Content.ReadAsStringAsync(Cancel)).Split('\n');
            Assert.Equal("ready", lines[0]);
            Assert.StartsWith("certificate for blocked.test: ", lines[1], StringComparison.Ordinal);
            string metrics = await admin.GetStringAsync(new Uri(refused.Admin, "/metrics"), Cancel);
            foreach (string key in (string[])["p256", "rsa2048"])
            {
                Assert.Matches($$"""millrace_certificate_last_error\{error="rejectedIdentifier",host="blocked.test",key="{{key}}"\} 1\n""", metrics);
                Assert.Matches($$"""millrace_certificate_failures\{host="blocked.test",key="{{key}}"\} \d+\n""", metrics);
                Assert.Matches($$"""millrace_certificate_renewal_seconds\{host="blocked.test",key="{{key}}"\} \d+\n""", metrics);
            }
        }

        await using ServerProcess alone = await place.StartAsync(
        [
            Places.SampleSite, "--https", $"127.0.0.1:{place.Authority.TlsPort}", "--acme", "none", "--domain", "site.test",
            "--acme-server", "https://127.0.0.1:1/directory", "--acme-dir", place.Folder.PathOf("other"),
        ]);
        await alone.AwaitErrorAsync("No certificate for site.test: ");
        using X509Certificate2 served = await place.CertificateAsync("site.test");
        Assert.True(served.MatchesHostname("localhost"));
    }

    // As Kubernetes does with fsGroup at each mount.
    [Fact]
    public async Task A_volume_that_was_opened_to_a_group_is_used_again_and_closed()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync();
        string[] flags = place.Flags("--domain", "site.test");
        await using (ServerProcess first = await place.StartAsync(flags))
        {
            await AcmePlace.ObtainedAsync(first);
        }

        await Tool.RunAsync("chmod", "-R", "g+rwX", place.State);
        await Tool.RunAsync("find", place.State, "-type", "d", "-exec", "chmod", "g+s", "{}", "+");
        await using ServerProcess second = await place.StartAsync(flags);
        using X509Certificate2 certificate = await place.CertificateAsync("site.test");
        Assert.StartsWith("CN=Pebble", certificate.Issuer, StringComparison.Ordinal);
        Assert.True(File.Exists(Path.Combine(place.State, "localhost.pem")));
        Assert.Equal("", (await Tool.RunAsync("find", place.State, "-mindepth", "1", "-perm", "/077")).Output);
    }

    [Fact]
    public async Task A_user_without_rights_keeps_and_renews_what_root_began()
    {
        Nobody.RequireRoot();
        await using AcmePlace place = await AcmePlace.MakeAsync();
        File.SetUnixFileMode(place.Folder.Root, Nobody.ForAll);
        File.SetUnixFileMode(Path.GetDirectoryName(place.Authority.RootsFile)!, Nobody.ForAll);

        // The key of another certificate, which only root can read, does not keep the obtained one out.
        string[] own = OwnCertificate.Make(place.Folder, "own", "own.test");
        File.SetUnixFileMode(own[3], UnixFileMode.UserRead);
        string[] flags = [.. place.Flags("--domain", "site.test", "--user", Nobody.UserAndGroup, "--seccomp", "on"), .. own];
        for (int start = 0; start < 2; start++)
        {
            await using ServerProcess server = await place.StartAsync(flags);
            if (start == 0)
            {
                await AcmePlace.ObtainedAsync(server);
            }

            using X509Certificate2 certificate = await place.CertificateAsync("site.test");
            Assert.StartsWith("CN=Pebble", certificate.Issuer, StringComparison.Ordinal);
            using X509Certificate2 other = await place.CertificateAsync("own.test");
            Assert.Equal("CN=own.test", other.Subject);
        }

        ToolResult owners = await Tool.RunAsync("find", place.State, "!", "-user", "65534");
        Assert.Equal("", owners.Output);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_process_that_is_killed_at_any_moment_leaves_an_order_that_the_next_one_ends()
    {
        // Each process lives longer than the one before, until one has obtained the certificate.
        await using AcmePlace place = await AcmePlace.MakeAsync(new PebbleOptions { SleepSecondsMax = 1, RejectedNonces = 20 });
        string[] flags = place.Flags("--domain", "site.test");
        int kills = 0;
        for (bool isObtained = false; !isObtained; kills++)
        {
            Assert.True(kills < 200, "No process has lived long enough.");
            ServerProcess server = await place.StartAsync(flags);

            // Sleeps: a process that is killed has no clock of ours.
            await Task.Delay(TimeSpan.FromMilliseconds(25 * kills), Cancel);
            await server.DisposeAsync();
            isObtained = place.Count("Issued certificate serial") > 0;
        }

        await using ServerProcess last = await place.StartAsync(flags);
        if (!last.Lines.Any(static line => line.StartsWith("Certificate for site.test is valid until ", StringComparison.Ordinal)))
        {
            await AcmePlace.ObtainedAsync(last);
        }

        using X509Certificate2 certificate = await place.CertificateAsync("site.test");
        Assert.StartsWith("CN=Pebble", certificate.Issuer, StringComparison.Ordinal);
        Assert.Equal(1, place.Count("Issued certificate serial"));
        Assert.InRange(place.Count("There are now 1 accounts") + place.Count("There are now 2 accounts"), 1, 1);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_renewal_under_load_fails_no_request()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync(new PebbleOptions { Validity = TimeSpan.FromSeconds(20) });
        await using ServerProcess server = await place.StartAsync(place.Flags("--domain", "site.test"));
        await AcmePlace.ObtainedAsync(server);
        using HttpClient client = await place.TrustingAsync();
        int answered = 0;
        var ended = new CancellationTokenSource();
        Task load = Task.WhenAll(Enumerable.Range(0, 8).Select(async worker =>
        {
            while (!ended.IsCancellationRequested)
            {
                // A new connection each time, and kept ones beside it.
                using var request = new HttpRequestMessage(HttpMethod.Get, "https://site.test/");
                request.Headers.ConnectionClose = Interlocked.Increment(ref answered) % 2 == 0;
                using HttpResponseMessage response = await client.SendAsync(request, Cancel);
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                byte[] body = await response.Content.ReadAsByteArrayAsync(Cancel);
                Assert.NotEmpty(body);
            }
        }));
        await AcmePlace.ObtainedAsync(server, certificates: 3);
        await ended.CancelAsync();
        await load;
        Assert.True(answered > 100, $"Only {answered} requests were answered.");
    }

    [Theory]
    [InlineData("--acme you", "'you' is not an e-mail address")]
    [InlineData("--acme a@b.test --domain x:1 --https", "Write example.org, *.example.org or an address")]
    [InlineData("--acme a@b.test --domain x.test", "--acme has no effect without HTTPS")]
    [InlineData("--acme a@b.test --https", "--acme needs a host")]
    [InlineData("--acme a@b.test --https --domain *.x.test", "A wildcard can be validated by DNS only")]
    [InlineData("--acme a@b.test --https --domain x.test --acme-server http://x.test/", "is not an https URL")]
    [InlineData("--acme a@b.test --https --domain x.test --acme-staging --acme-server https://x.test/", "use one")]
    [InlineData("--acme a@b.test --https --domain x.test --acme-dns-hook /bin/true --seccomp on", "which --seccomp denies")]
    [InlineData("--domain x.test --https", "--domain has no effect without certificates to obtain: add --acme.")]
    public async Task What_cannot_work_is_refused_by_name(string flags, string words)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, ["check", Places.SampleSite, .. flags.Split(' ')]);
        Assert.Equal(2, result.ExitCode);
        Assert.Contains(words, result.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("site", "site/acme")]
    [InlineData("site", "site/.well-known/acme")]
    [InlineData("link", "site/acme")]
    [InlineData("site", "link/acme")]
    [InlineData("", "site/acme")]
    public async Task The_folder_is_not_among_what_is_served(string root, string state)
    {
        using var folder = new TempFolder();
        Directory.CreateDirectory(folder.PathOf("site"));
        File.CreateSymbolicLink(folder.PathOf("link"), folder.PathOf("site"));
        string[] flags =
        [
            folder.PathOf(root), "--https", "127.0.0.1:0", "--acme", "none", "--domain", "localhost", "--acme-dir", folder.PathOf(state),
        ];
        foreach (string[] command in (string[][])[flags, ["check", .. flags]])
        {
            ToolResult result = await Tool.RunAsync(Publication.Program, command);
            Assert.Equal(2, result.ExitCode);
            Assert.Contains("among what is served", result.Error, StringComparison.Ordinal);
        }

        Assert.False(Directory.Exists(folder.PathOf(state)));
    }

    [Fact]
    public async Task A_folder_that_all_users_can_write_is_refused_by_start_and_check()
    {
        using var folder = new TempFolder();
        string state = folder.PathOf("acme");
        Directory.CreateDirectory(state);
        File.SetUnixFileMode(state, Nobody.ForAll | UnixFileMode.OtherWrite);
        string[] flags = [Places.SampleSite, "--https", "127.0.0.1:0", "--acme", "none", "--domain", "localhost", "--acme-dir", state];
        foreach (string[] command in (string[][])[flags, ["check", .. flags]])
        {
            ToolResult result = await Tool.RunAsync(Publication.Program, command);
            Assert.Equal(2, result.ExitCode);
            Assert.Contains($"chmod o-w {state}", result.Error, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Another_user_needs_a_folder_of_its_own()
    {
        Nobody.RequireRoot();
        ToolResult result = await Tool.RunAsync(
            Publication.Program, Places.SampleSite, "--https", "127.0.0.1:0", "--acme", "none", "--domain", "x.test", "--user",
            Nobody.UserAndGroup);
        Assert.Equal(2, result.ExitCode);
        Assert.Contains("add --acme-dir", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_stop_leaves_the_order_for_the_next_start()
    {
        await using AcmePlace place = await AcmePlace.MakeAsync(new PebbleOptions { SleepSecondsMax = 2 });
        string[] flags = place.Flags("--domain", "site.test", "--drain", "2");
        await using (ServerProcess first = await place.StartAsync(flags))
        {
            await first.AwaitErrorAsync("Order of a certificate for site.test");
            first.Signal(PosixSignal.SIGTERM);
            Assert.Equal(0, await first.ExitCodeAsync());
            Assert.DoesNotContain("No certificate for", await first.ErrorAsync(), StringComparison.Ordinal);
        }

        await using ServerProcess second = await place.StartAsync(flags);
        await AcmePlace.ObtainedAsync(second);
        Assert.Equal(1, place.Count("Issued certificate serial"));
    }

    [Fact]
    public async Task Https_alone_means_the_public_ports()
    {
        ToolResult result = await Tool.RunAsync(
            Publication.Program, "check", Places.SampleSite, "--https", "--acme", "none", "--domain", "localhost", "--acme-staging");
        Assert.Equal(0, result.ExitCode);
        Assert.Contains("Would listen on https://localhost:443/ (all interfaces)\n", result.Output, StringComparison.Ordinal);
        Assert.Contains("Would listen on http://localhost:80/ (all interfaces) (redirects to HTTPS)\n", result.Output, StringComparison.Ordinal);
        Assert.Contains(
            "Would obtain a certificate for localhost from acme-staging-v02.api.letsencrypt.org\n", result.Output, StringComparison.Ordinal);
    }
}
