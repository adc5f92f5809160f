using System.Globalization;
using System.Net;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Private files are never served, whatever name in the root leads to them.</summary>
public class PrivateFileTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(30);

    /// <summary>In a folder where everything lies together: the site, its certificate, and what must not be shown.</summary>
    [Theory]
    [InlineData("inotify")]
    [InlineData("revalidate")]
    [InlineData("off")]
    public async Task Keys_passwords_configuration_and_logs_in_the_root_are_not_found(string watch)
    {
        using var folder = new TempFolder();
        using var outside = new TempFolder();
        string[] flags = Fill(folder, outside);
        await using ServerProcess server = await ServerProcess.StartAsync([.. flags, "--watch", watch]);
        using HttpClient client = OwnCertificate.Trusting();
        string[] secret =
        [
            "a.key", "link.key", "sub/hard.key", "dir-link/a.key", "word.txt", "millrace.json", "access.log", "secrets.log",
            "a.key.gz", "a.key.br", "outside-hard.key",
        ];
        foreach (string name in secret)
        {
            Assert.Equal((name, HttpStatusCode.NotFound), (name, await StatusAsync(client, server, name)));
        }

        foreach (string name in (string[])["a.crt", "index.html", "other.key", "b.txt.gz"])
        {
            Assert.Equal((name, HttpStatusCode.OK), (name, await StatusAsync(client, server, name)));
        }

        string listing = await client.GetStringAsync(new Uri(server.Url, "sub/"), TestContext.Current.CancellationToken);
        Assert.Contains("plain.txt", listing, StringComparison.Ordinal);
        Assert.DoesNotContain("hard.key", listing, StringComparison.Ordinal);
        Assert.Contains("a.key (private file of the server)", await AwaitErrorAsync(server, "(private file"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_link_that_is_made_later_leads_to_nothing()
    {
        using var folder = new TempFolder();
        using var outside = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync(Fill(folder, outside));
        using HttpClient client = OwnCertificate.Trusting();
        await LinkAsync(outside.PathOf("c.key"), folder.PathOf("late-hard.key"));
        File.CreateSymbolicLink(folder.PathOf("late-link.txt"), "a.key");
        folder.WriteText("late.txt", "seen");
        await AwaitAsync(client, server, "late.txt", HttpStatusCode.OK);
        foreach (string name in (string[])["late-hard.key", "late-link.txt"])
        {
            Assert.Equal((name, HttpStatusCode.NotFound), (name, await StatusAsync(client, server, name)));
        }
    }

    [Fact]
    public async Task A_file_that_takes_the_place_of_a_secret_is_one_and_so_is_what_it_replaced()
    {
        using var folder = new TempFolder();
        using var outside = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync(Fill(folder, outside));
        using HttpClient client = OwnCertificate.Trusting();

        // As renewals do it, and as logs are rotated: the new one under another name first, the old one kept under yet another.
        File.Move(folder.PathOf("a.key"), folder.PathOf("a.key.old"));
        File.Copy(folder.PathOf("a.key.old"), outside.PathOf("fresh.key"));
        File.Move(outside.PathOf("fresh.key"), folder.PathOf("a.key"));
        File.Move(folder.PathOf("access.log"), folder.PathOf("access.log.1"));
        server.Signal((PosixSignal)10);
        folder.WriteText("late.txt", "seen");
        await AwaitAsync(client, server, "late.txt", HttpStatusCode.OK);
        foreach (string name in (string[])["a.key", "a.key.old", "access.log", "access.log.1"])
        {
            Assert.Equal((name, HttpStatusCode.NotFound), (name, await StatusAsync(client, server, name)));
        }

        server.Signal(PosixSignal.SIGHUP);
        await AwaitErrorAsync(server, "Certificates reloaded");
        foreach (string name in (string[])["a.key", "a.key.old", "access.log", "access.log.1"])
        {
            Assert.Equal((name, HttpStatusCode.NotFound), (name, await StatusAsync(client, server, name)));
        }
    }

    [Fact]
    public async Task What_a_new_configuration_names_is_not_served_from_then_on()
    {
        using var folder = new TempFolder();
        using var keys = new TempFolder();
        string[] first = OwnCertificate.Make(keys, "a", "a.example");
        string[] second = OwnCertificate.Make(folder, "b", "b.example");
        folder.WriteText("index.html", "x");
        string file = keys.PathOf("millrace.json");
        Write(first);
        await using ServerProcess server = await ServerProcess.StartAsync("--config", file);
        using HttpClient client = OwnCertificate.Trusting();
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, server, "b.key"));
        Write(second);
        server.Signal(PosixSignal.SIGHUP);
        await AwaitAsync(client, server, "b.key", HttpStatusCode.NotFound);
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, server, "b.crt"));

        void Write(string[] flags) => File.WriteAllText(file, string.Create(CultureInfo.InvariantCulture,
            $$"""{ "root": "{{folder.Root}}", "https": { "listen": "127.0.0.1:0", "cert": "{{flags[1]}}", "key": "{{flags[3]}}" } }"""));
    }

    private static string[] Fill(TempFolder folder, TempFolder outside)
    {
        string[] own = OwnCertificate.MakeEncrypted(folder, "a", "sesame", "a.example");
        string[] other = OwnCertificate.MakeEncrypted(outside, "c", "sesame", "c.example");
        Directory.CreateDirectory(folder.PathOf("sub"));
        folder.WriteText("word.txt", "sesame\n");
        folder.WriteText("index.html", "index");
        folder.WriteText("other.key", "a key that is not configured");
        folder.WriteText("sub/plain.txt", "plain");
        folder.WriteText("a.key.gz", "a copy");
        folder.WriteText("a.key.br", "a copy");
        folder.WriteText("b.txt", "text");
        folder.WriteText("b.txt.gz", "coded");
        folder.WriteText("millrace.json", "{}");
        File.CreateSymbolicLink(folder.PathOf("link.key"), "a.key");
        File.CreateSymbolicLink(folder.PathOf("dir-link"), "sub/..");
        Tool.RunToSuccessAsync(Deadline, "ln", folder.PathOf("a.key"), folder.PathOf("sub/hard.key")).GetAwaiter().GetResult();
        Tool.RunToSuccessAsync(Deadline, "ln", outside.PathOf("c.key"), folder.PathOf("outside-hard.key")).GetAwaiter().GetResult();
        return
        [
            folder.Root, "--config", folder.PathOf("millrace.json"), "--https", "127.0.0.1:0", .. own, .. other,
            "--key-password", folder.PathOf("word.txt"), "--access-log", folder.PathOf("access.log"),
            "--tls-key-log", folder.PathOf("secrets.log"), "--listing", "on",
        ];
    }

    private static async Task LinkAsync(string target, string name) => await Tool.RunToSuccessAsync(Deadline, "ln", target, name);

    private static async Task<HttpStatusCode> StatusAsync(HttpClient client, ServerProcess server, string path)
    {
        using HttpResponseMessage response = await client.GetAsync(new Uri(server.Url, path), TestContext.Current.CancellationToken);
        return response.StatusCode;
    }

    private static async Task AwaitAsync(HttpClient client, ServerProcess server, string path, HttpStatusCode status)
    {
        using var deadline = new CancellationTokenSource(Deadline);
        while (await StatusAsync(client, server, path) != status)
        {
            await Task.Delay(10, deadline.Token);
        }
    }

    private static async Task<string> AwaitErrorAsync(ServerProcess server, string words)
    {
        await server.AwaitErrorAsync(words);
        server.Signal(PosixSignal.SIGHUP);
        return server.Said();
    }
}
