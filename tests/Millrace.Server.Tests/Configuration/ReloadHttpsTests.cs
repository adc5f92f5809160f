using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary>SIGHUP with other certificates: what was replaced is given back with the last connection that speaks by it.</summary>
public sealed class ReloadHttpsTests : IDisposable
{
    private const int Few = 12;
    private const int Many = 200;

    /// <summary>The collector's heap and the allocator have grown to what they need by then.</summary>
    private const int WarmUp = 800;

    /// <summary>What a front that is kept takes of memory, with OpenSSL's context, is four times as much.</summary>
    private const int KibPerReload = 8;

    private readonly TempFolder _site = new();
    private readonly TempFolder _keys = new();

    public ReloadHttpsTests() => _site.Add("a.txt", 10);

    public void Dispose()
    {
        _site.Dispose();
        _keys.Dispose();
    }

    [Fact]
    public async Task TLS_that_was_replaced_is_given_back_when_its_last_connection_is_gone()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Reported(0));
        Uri url = server.Process.Url;
        using (Wire open = Wire.Open(url))
        {
            for (int iteration = 1; iteration <= Few; iteration++)
            {
                await server.ReloadAsync(Reported(iteration));
                Assert.Equal(200, open.Ask("/a.txt").Status);
                Assert.Equal(200, Wire.Get(url, "/a.txt").Status);
                await AwaitLogsAsync(server, 0, iteration);
            }
        }

        await AwaitLogsAsync(server, Few);
        await server.ReloadAsync($$"""{ "root": "{{_site.Root}}", "listen": "127.0.0.1:0" }""");
        await AwaitLogsAsync(server);
        await server.StopAsync();
    }

    [Fact]
    public async Task What_could_not_be_applied_is_released_and_what_is_in_use_is_not()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Reported(0));
        Uri url = server.Process.Url;
        await server.RefuseAsync(Reported(1).Replace(_site.Root, "/nowhere", StringComparison.Ordinal));
        await AwaitLogsAsync(server, 0);
        Assert.Equal(200, Wire.Get(url, "/a.txt").Status);

        await server.RefuseAsync(Reported(0).Replace(_site.Root, "/nowhere", StringComparison.Ordinal));
        Assert.Equal(200, Wire.Get(url, "/a.txt").Status);
        await server.ReloadAsync(Reported(0));
        await AwaitLogsAsync(server, 0);
        Assert.Equal(200, Wire.Get(url, "/a.txt").Status);
        await server.StopAsync();
    }

    [Fact]
    public async Task A_key_that_has_another_password_now_is_opened_with_that()
    {
        string[] flags = OwnCertificate.MakeEncrypted(_keys, "a", "one", "one.example");
        _keys.WriteText("password", "one\n");
        string text = $$"""
            { "root": "{{_site.Root}}", "https": {
              "listen": "127.0.0.1:0", "cert": "{{flags[1]}}", "key": "{{flags[3]}}", "key-password": "{{_keys.PathOf("password")}}" } }
            """;
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(text);
        Assert.Equal("CN=one.example", await ShownAsync(server.Process.Url));

        OwnCertificate.MakeEncrypted(_keys, "a", "two", "two.example");
        _keys.WriteText("password", "two\n");
        await server.ReloadAsync(text);
        Assert.Equal("CN=two.example", await ShownAsync(server.Process.Url));
        await server.StopAsync();
    }

    [Fact]
    public async Task What_could_not_be_read_again_is_named_in_place_of_applied()
    {
        string[] flags = OwnCertificate.Make(_keys, "a", "one.example");
        string root = Directory.CreateDirectory(_keys.PathOf("site")).FullName;
        string text = $$"""
            { "root": "{{root}}", "https": { "listen": "127.0.0.1:0", "cert": "{{flags[1]}}", "key": "{{flags[3]}}" } }
            """;
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(text);

        OwnCertificate.Make(_keys, "b", "two.example");
        File.Copy(_keys.PathOf("b.key"), flags[3], overwrite: true);
        Directory.Delete(root);
        await server.ReloadInPartAsync(text);
        Assert.Equal("CN=one.example", await ShownAsync(server.Process.Url));
        await server.Process.AwaitErrorAsync(
            $" applied, but the certificates and the files of {root} could not be read again and stay as they were: 1 site on https://");

        File.Copy(_keys.PathOf("b.crt"), flags[1], overwrite: true);
        Directory.CreateDirectory(root);
        await server.ReloadAsync(text);
        Assert.Equal("CN=two.example", await ShownAsync(server.Process.Url));
        await server.StopAsync();
    }

    [Fact]
    public async Task A_local_certificate_that_cannot_be_renewed_stays_and_the_rest_is_reloaded()
    {
        string pem = _keys.PathOf("millrace/localhost.pem");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(
            Local("start"), flags => ServerProcess.StartWithAsync([("XDG_DATA_HOME", _keys.Root)], flags));
        Uri url = server.Process.Url;
        Assert.StartsWith("CN=millrace on ", await ShownAsync(url));

        // As months go by: one of 20 days in its place, which a reload takes.
        string[] due = OwnCertificate.Make(_keys, "due", days: 20, "localhost", Environment.MachineName);
        File.WriteAllText(pem, $"{File.ReadAllText(due[1])}\n{File.ReadAllText(due[3])}\n");
        await server.ReloadAsync(Local("due"));
        Assert.Equal("CN=localhost", await ShownAsync(url));

        // As after '--user': what the new one would be written to is not for this server, root or not.
        string obstacle = Directory.CreateDirectory($"{pem}.{server.Process.Id}").FullName;
        await server.ReloadInPartAsync(Local("kept"));
        Assert.Equal("kept", Wire.Get(url, "/a.txt").Field("X-Reload"));
        Assert.Equal("CN=localhost", await ShownAsync(url));
        await server.Process.AwaitErrorAsync($"The local certificate cannot be stored in '{pem}'");
        await server.Process.AwaitErrorAsync("Or restart: ");

        // With changed TLS options it is opened again.
        string secrets = $", \"key-log\": \"{_keys.PathOf("secrets")}\"";
        await server.ReloadAsync(Local("opened", secrets));
        Assert.Equal("opened", Wire.Get(url, "/a.txt").Field("X-Reload"));
        Assert.Equal("CN=localhost", await ShownAsync(url));
        await server.Process.AwaitErrorAsync(" and the next one could not be made. ");

        Directory.Delete(obstacle);
        await server.ReloadAsync(Local("renewed"));
        Assert.Equal("renewed", Wire.Get(url, "/a.txt").Field("X-Reload"));
        Assert.StartsWith("CN=millrace on ", await ShownAsync(url));
        await server.StopAsync();

        string Local(string mark, string tls = "") => $$"""
            { "root": "{{_site.Root}}", "https": { "listen": "127.0.0.1:0"{{tls}} }, "header": "X-Reload: {{mark}}" }
            """;
    }

    [Fact]
    [Trait("Duration", "Long")]
    public async Task Hundreds_of_reloads_leave_neither_descriptors_nor_memory()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Reported(0));
        Uri url = server.Process.Url;
        await ReloadAsync(1, WarmUp);
        await AwaitLogsAsync(server, WarmUp);
        (int descriptors, int kib) = (server.Process.CountDescriptors(), server.Process.ResidentKib());
        await ReloadAsync(1 + WarmUp, Many);
        await AwaitLogsAsync(server, WarmUp + Many);
        // Those of the last reload's connection may still be closing, before as after.
        for (int i = 0; i < 500 && server.Process.CountDescriptors() > descriptors; i++)
        {
            await Task.Delay(10);
        }

        Assert.InRange(server.Process.CountDescriptors(), 0, descriptors);
        int grown = server.Process.ResidentKib() - kib;
        TestContext.Current.SendDiagnosticMessage(string.Create(CultureInfo.InvariantCulture, $"{Many} reloads: {grown} KiB more"));
        Assert.True(grown < Many * KibPerReload, $"{grown} KiB more after {Many} reloads");
        await server.StopAsync();

        async Task ReloadAsync(int first, int count)
        {
            for (int iteration = first; iteration < first + count; iteration++)
            {
                using Wire open = Wire.Open(url);
                Assert.Equal(200, open.Ask("/a.txt").Status);
                await server.ReloadAsync(Reported(iteration));
                Assert.Equal(200, open.Ask("/a.txt").Status);
            }
        }
    }

    /// <summary>Whose certificate it is that a client is shown.</summary>
    private static async Task<string> ShownAsync(Uri url)
    {
        using var client = new TcpClient();
        await client.ConnectAsync(url.Host, url.Port);
        await using var stream = new SslStream(client.GetStream(), leaveInnerStreamOpen: false, OwnCertificate.IsAnything);
        await stream.AuthenticateAsClientAsync("localhost");
        return stream.RemoteCertificate!.Subject;
    }

    /// <summary>Each with a certificate and, to be seen among the descriptors, a file of secrets of its own.</summary>
    private string Reported(int iteration)
    {
        string[] flags = OwnCertificate.Make(_keys, $"{iteration}", $"{iteration}.example");
        return $$"""
            { "root": "{{_site.Root}}", "https": {
              "listen": "127.0.0.1:0", "cert": "{{flags[1]}}", "key": "{{flags[3]}}", "key-log": "{{LogOf(iteration)}}" } }
            """;
    }

    private string LogOf(int iteration) => _keys.PathOf($"{iteration}.log");

    /// <summary>Waits until the server has these files of secrets open and no others: what is given back is given back by its reactors.</summary>
    private async Task AwaitLogsAsync(ConfiguredServer server, params int[] iterations)
    {
        string[] expected = [.. iterations.Select(LogOf).Order(StringComparer.Ordinal)];
        string[] seen = [];
        for (int i = 0; i < 3_000; i++)
        {
            seen =
            [
                .. server.Process.FilesInUse().Where(path => path.StartsWith(_keys.Root, StringComparison.Ordinal))
                    .Order(StringComparer.Ordinal),
            ];
            if (seen.SequenceEqual(expected))
            {
                return;
            }

            await Task.Delay(10);
        }

        Assert.Equal(expected, seen);
    }
}
