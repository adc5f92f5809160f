using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Server.Tests.Kit;
using static Millrace.Server.Tests.Kit.OwnCertificate;

namespace Millrace.Server.Tests;

/// <summary>HTTPS as people use it: by the command line.</summary>
public class HttpsTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Without_a_certificate_a_local_one_is_made_and_kept()
    {
        using var folder = new TempFolder();
        string[] shown = new string[2];
        for (int i = 0; i < shown.Length; i++)
        {
            await using ServerProcess server = await StartAtHomeAsync(folder, Places.SampleSite, "--https", "127.0.0.1:0");
            Assert.StartsWith("Listening on https://127.0.0.1:", server.Lines[0], StringComparison.Ordinal);
            Assert.Matches(@"^Certificate for localhost, .* is valid until 20\d\d-\d\d-\d\d \(36[45] days\), self-signed$", server.Lines[1]);
            Assert.Equal(
                $"Certificate file (browsers warn until you trust it): {folder.PathOf("millrace/localhost.pem")}", server.Lines[2]);
            using X509Certificate2 certificate = await CertificateOfAsync(server.Url, "localhost");
            shown[i] = server.Lines[3]["Certificate fingerprint (SHA-256): ".Length..].Replace(":", "", StringComparison.Ordinal);
            Assert.Equal(Convert.ToHexString(SHA256.HashData(certificate.RawData)), shown[i]);
            Assert.True(certificate.MatchesHostname("localhost"));
            Assert.True(certificate.MatchesHostname("127.0.0.1"));
            Assert.True(certificate.MatchesHostname(Environment.MachineName));
        }

        Assert.Equal(shown[0], shown[1]);
        ToolResult mode = await Tool.RunAsync("stat", "-c", "%a", folder.PathOf("millrace/localhost.pem"));
        Assert.Equal("600\n", mode.Output);
    }

    [Fact]
    public async Task Curl_trusts_the_configured_certificate()
    {
        Tool.Require("curl");
        using var folder = new TempFolder();
        await using ServerProcess server = await StartAtHomeAsync(folder, Places.SampleSite, "--https", "127.0.0.1:0");
        string page = await Tool.RunToSuccessAsync(
            Patience, "curl", "-s", "--cacert", folder.PathOf("millrace/localhost.pem"), $"https://localhost:{server.Url.Port}/", "--resolve",
            $"localhost:{server.Url.Port}:127.0.0.1");
        Assert.Contains("Aldermere Mill", page, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Each_host_has_its_certificate_and_its_folder()
    {
        using var folder = new TempFolder();
        Directory.CreateDirectory(folder.PathOf("b"));
        await File.WriteAllTextAsync(folder.PathOf("b/index.html"), "site b", TestContext.Current.CancellationToken);
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "127.0.0.1:0", .. Make(folder, "a", "a.example"), .. Make(folder, "b", "b.example", "*.b.example"),
                "--host", $"b.example={folder.PathOf("b")}"]);
        (string, string)[] shown =
            [("a.example", "CN=a.example"), ("b.example", "CN=b.example"), ("x.b.example", "CN=b.example"), ("c.example", "CN=a.example")];
        foreach ((string host, string expected) in shown)
        {
            using X509Certificate2 certificate = await CertificateOfAsync(server.Url, host);
            Assert.Equal(expected, certificate.Subject);
        }

        using HttpClient client = Trusting();
        using var request = new HttpRequestMessage(HttpMethod.Get, server.Url) { Headers = { Host = "b.example" } };
        using HttpResponseMessage response = await client.SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal("site b", await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
        Assert.False(response.Headers.Contains("Strict-Transport-Security"));
    }

    [Fact]
    public async Task Plain_http_is_sent_to_https_which_browsers_insist_on_from_then_on()
    {
        using var folder = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--listen", "127.0.0.1:0", "--https", "127.0.0.1:0", .. Make(folder, "a", "a.example"),
                "--https-redirect", "--hsts"]);
        var secure = new Uri(server.Addresses[0]);
        var plain = new Uri(server.Addresses[1]);
        WireResponse response = Wire.Get(plain, "/a/b.html?c=d%20e");
        Assert.Equal((308, $"https://millrace:{secure.Port}/a/b.html?c=d%20e"), (response.Status, response.Field("Location")));
        Assert.Null(response.Field("Strict-Transport-Security"));
        using Wire wire = Wire.Open(plain);
        Assert.Equal($"https://[::1]:{secure.Port}/", wire.Send("GET http://[::1]:80 HTTP/1.1\r\nHost: x\r\n\r\n"u8).Field("Location"));
        using Wire nameless = Wire.Open(plain);
        Assert.Equal(400, nameless.Send("GET / HTTP/1.0\r\n\r\n"u8).Status);
        using Wire broken = Wire.Open(plain);
        WireResponse refusal = broken.Send("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"u8);
        Assert.Equal((400, "400 Bad Request\r\n"), (refusal.Status, Encoding.ASCII.GetString(refusal.Body)));
        Assert.EndsWith("\r\n\r\n", await ReadToEndAsync(plain, "HEAD / HTTP/1.1\r\nHost: a b\r\n\r\n"), StringComparison.Ordinal);
        using HttpClient client = Trusting();
        using HttpResponseMessage page = await client.GetAsync(secure, TestContext.Current.CancellationToken);
        Assert.Equal("max-age=31536000", Assert.Single(page.Headers.GetValues("Strict-Transport-Security")));
        using HttpResponseMessage missing = await client.GetAsync(new Uri(secure, "/missing"), TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.NotFound, missing.StatusCode);
        Assert.True(missing.Headers.Contains("Strict-Transport-Security"));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(10_000)]
    [InlineData(300_000)]
    [InlineData(30_000_000)]
    public async Task Bodies_of_all_sizes_are_whole(int bytes)
    {
        using var folder = new TempFolder();
        byte[] content = folder.Add("file.bin", bytes);
        using var keys = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync([folder.Root, "--https", "127.0.0.1:0", .. Make(keys, "a", "a.example")]);
        using HttpClient client = Trusting();
        var url = new Uri(server.Url, "file.bin");
        for (int i = 0; i < 3; i++)
        {
            byte[] got = await client.GetByteArrayAsync(url, TestContext.Current.CancellationToken);
            Assert.Equal(SHA256.HashData(content), SHA256.HashData(got));
        }

        using var request = new HttpRequestMessage(HttpMethod.Get, url) { Headers = { Range = new(bytes / 3, null) } };
        using HttpResponseMessage part = await client.SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal(content[(bytes / 3)..], await part.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task New_certificates_are_read_on_sighup()
    {
        using var folder = new TempFolder();
        string[] flags = Make(folder, "a", "old.example");
        await using ServerProcess server = await ServerProcess.StartAsync([Places.SampleSite, "--https", "127.0.0.1:0", .. flags]);
        await AwaitSubjectAsync(server, "CN=old.example");
        Make(folder, "a", "new.example");
        server.Signal(PosixSignal.SIGHUP);
        await AwaitSubjectAsync(server, "CN=new.example");
    }

    [Fact]
    public async Task Bad_certificates_on_sighup_keep_the_old_ones_and_are_logged()
    {
        using var site = new TempFolder();
        using var keys = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [site.Root, "--watch", "off", "--https", "127.0.0.1:0", .. Make(keys, "a", "old.example")]);
        await File.WriteAllTextAsync(keys.PathOf("a.crt"), "nothing", TestContext.Current.CancellationToken);
        site.Add("new.txt", 5);
        server.Signal(PosixSignal.SIGHUP);

        // The site is reloaded first, then the certificates; the shutdown waits for both.
        await AwaitFileAsync(new Uri(server.Url, "new.txt"));
        await AwaitSubjectAsync(server, "CN=old.example");
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Contains("Reload of the certificates failed; keeping the previous: '", await server.ErrorAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Clients_without_a_certificate_of_the_authority_are_refused()
    {
        using var folder = new TempFolder();
        string[] own = Make(folder, "client", "miller");
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "127.0.0.1:0", .. Make(folder, "a", "a.example"), "--client-ca", own[1]]);
        using HttpClient stranger = Trusting();
        await Assert.ThrowsAsync<HttpRequestException>(() => stranger.GetStringAsync(server.Url, TestContext.Current.CancellationToken));
        Tool.Require("curl");
        string page = await Tool.RunToSuccessAsync(Patience, "curl", "-sk", "--cert", own[1], "--key", own[3], server.Url.ToString());
        Assert.Contains("Aldermere Mill", page, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Encrypted_keys_are_opened_by_a_password_in_a_file()
    {
        using var folder = new TempFolder();
        string[] flags = [.. MakeEncrypted(folder, "a", "the word", "a.example"), .. MakeEncrypted(folder, "b", "another", "b.example")];
        File.WriteAllText(folder.PathOf("a.txt"), "the word\n");
        File.WriteAllText(folder.PathOf("b.txt"), "another");
        File.WriteAllText(folder.PathOf("empty.txt"), "\n");
        await using (ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "127.0.0.1:0", .. flags,
                "--key-password", folder.PathOf("a.txt"), "--key-password", folder.PathOf("b.txt")]))
        {
            foreach (string host in (string[])["a.example", "b.example"])
            {
                using X509Certificate2 certificate = await CertificateOfAsync(server.Url, host);
                Assert.Equal($"CN={host}", certificate.Subject);
            }
        }

        foreach ((string file, string words) in ((string, string)[])
            [("a.txt", "cannot be decrypted with the given password"), ("empty.txt", "has no password"), ("none.txt", "cannot be read")])
        {
            ToolResult result = await Tool.RunAsync(
                Publication.Program, [Places.SampleSite, "--https", "127.0.0.1:0", .. flags, "--key-password", folder.PathOf(file)]);
            result.AssertRefused(2, words);
        }
    }

    [Theory]
    [InlineData("add --cert", "--https", "--key-password", "a")]
    [InlineData("there are 2 and 1", "--https", "--cert", "a", "--key-password", "a", "--key-password", "b")]
    [InlineData("has no effect without HTTPS: add --https", "--hsts")]
    [InlineData("has no effect without HTTPS: add --https", "--cert", "a.pem")]
    [InlineData("has no effect without HTTPS: add --https", "--https-redirect", "--listen", "0")]
    [InlineData("add --listen", "--https", "--https-redirect")]
    [InlineData("needs --https-redirect", "--https", "--hsts", "--listen", "0")]
    [InlineData("there are 2 and 1", "--https", "--cert", "a", "--cert", "b", "--key", "c")]
    [InlineData("is not a valid address", "--https=nowhere")]
    [InlineData("is not valid: use a number of seconds from 0 to 2147483647", "--https", "--hsts=long")]
    [InlineData("/a.pem' does not exist", "--https", "--cert", "a.pem")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, [Places.SampleSite, .. arguments])).AssertRefused(2, words);

    [Fact]
    public async Task What_stands_behind_a_flag_that_may_stand_alone_is_the_folder_unless_it_is_its_value()
    {
        using var folder = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync(
            ["--https", "127.0.0.1:0", .. Make(folder, "a", "a.example"), "--hsts", "60", Places.SampleSite]);
        using HttpClient client = Trusting();
        using HttpResponseMessage page = await client.GetAsync(server.Url, TestContext.Current.CancellationToken);
        Assert.Equal("max-age=60", Assert.Single(page.Headers.GetValues("Strict-Transport-Security")));
    }

    private static async Task<string> ReadToEndAsync(Uri url, string request)
    {
        using var client = new TcpClient();
        await client.ConnectAsync(url.Host, url.Port).WaitAsync(Patience);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync(Encoding.ASCII.GetBytes(request), TestContext.Current.CancellationToken);
        using var reader = new StreamReader(stream, Encoding.ASCII);
        return await reader.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(Patience);
    }

    private static Task<ServerProcess> StartAtHomeAsync(TempFolder home, params string[] arguments) => ServerProcess.StartAsync(
        "/usr/bin/env", [$"XDG_DATA_HOME={home.Root}", Publication.Program, .. arguments, .. Publication.BackendFlags], lastLine: "Serving ");

    private static async Task<X509Certificate2> CertificateOfAsync(Uri url, string host)
    {
        using var client = new TcpClient();
        await client.ConnectAsync(url.Host, url.Port).WaitAsync(Patience);
        using var stream = new SslStream(client.GetStream(), leaveInnerStreamOpen: false, IsAnything);
        await stream.AuthenticateAsClientAsync(host).WaitAsync(Patience);
        return new X509Certificate2(stream.RemoteCertificate!);
    }

    /// <summary>A signal has no answer: asked until it has done its work.</summary>
    private static async Task AwaitSubjectAsync(ServerProcess server, string subject)
    {
        string seen = "";
        for (int i = 0; i < 500 && seen != subject; i++)
        {
            using X509Certificate2 certificate = await CertificateOfAsync(server.Url, "");
            seen = certificate.Subject;
            await Task.Delay(10);
        }

        Assert.Equal(subject, seen);
    }

    private static async Task AwaitFileAsync(Uri url)
    {
        using HttpClient client = Trusting();
        HttpStatusCode seen = default;
        for (int i = 0; i < 500 && seen != HttpStatusCode.OK; i++)
        {
            using HttpResponseMessage response = await client.GetAsync(url, TestContext.Current.CancellationToken);
            seen = response.StatusCode;
            await Task.Delay(10);
        }

        Assert.Equal(HttpStatusCode.OK, seen);
    }
}
