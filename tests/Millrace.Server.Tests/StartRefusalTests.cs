using System.Net;
using System.Net.Sockets;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>What cannot work ends at once, with one line that says why and the exit code for it: 1 the host's no, 2 a mistake.</summary>
public class StartRefusalTests
{
    [Theory]
    [InlineData("is not a valid address", "--listen", "127.1:80")]
    [InlineData("is not a valid address", "--listen", "::1:80")]
    [InlineData("is not a valid address", "--listen", "[::1]")]
    [InlineData("is not a valid address", "--listen", "[127.0.0.1]:80")]
    [InlineData("is not a valid address", "--listen", "127.0.0.1:65536")]
    [InlineData("is not a valid address", "--listen", "127.0.0.1:-1")]
    [InlineData("is not a valid address", "--listen", "127.0.0.1:")]
    [InlineData("is not a valid address", "--listen", "127.0.0.1: 80")]
    [InlineData("is not a valid address", "--listen", "unix:")]
    [InlineData("is not a valid address", "--listen", "")]
    [InlineData("is not a valid address", "--listen", "127.0.0.1:0", "--listen", "x")]
    [InlineData("--listen", "--listen")]
    [InlineData("is not valid: use a number from 0 to 1024", "--reactors", "-1")]
    [InlineData("is not valid: use a number from 0 to 1024", "--reactors", "1025")]
    [InlineData("is not valid: use a number from 0 to 1024", "--reactors", "two")]
    [InlineData("is not valid: use a number from 0 to 1024", "--reactors", "1.5")]
    [InlineData("--reactors", "--reactors")]
    [InlineData("is not a backend", "--backend", "epool")]
    [InlineData("use a number from 1 to", "--connections", "0")]
    [InlineData("use a number from 1 to", "--connections", "many")]
    [InlineData("use a number of bytes from 1024 to", "--head-max", "1k5")]
    [InlineData("use a number of bytes from 1024 to", "--head-max", "1000")]
    [InlineData("use a number of seconds from 0 to 86400", "--drain", "-1")]
    [InlineData("use a number of seconds from 0 to 86400", "--drain", "90000")]
    [InlineData("--drain", "--drain")]
    [InlineData("is not an option", "--lisen", "8080")]
    [InlineData("is not an option", "--nope")]
    [InlineData("is not an option", "-x")]
    [InlineData("Unexpected argument", ".", "two")]
    [InlineData("does not exist", "no-such-folder")]
    [InlineData("does not exist", "@no-such-folder")]
    [InlineData("'' is not a folder name", "")]
    [InlineData("'' is not a folder name", "--dictionaries", "")]
    [InlineData("'' is not a file name", "--https", "127.0.0.1:0", "--cert", "")]
    [InlineData("'' is not a file name", "--https", "127.0.0.1:0", "--tls-key-log", "")]
    [InlineData("'' is not a folder name", "--dictionaries", "--dictionary-dir", "")]
    [InlineData("needs an HTTPS port", "--listen", "127.0.0.1:0", "--https", "unix:no.sock", "--https-redirect")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, arguments)).AssertRefused(2, words);

    [Fact]
    public async Task A_file_is_no_root() =>
        (await Tool.RunAsync(Publication.Program, Path.Combine(Places.SampleSite, "index.html"))).AssertRefused(2, "is not a directory");

    [Fact]
    public async Task A_path_that_fits_no_unix_address_is_a_mistake() =>
        (await Tool.RunAsync(Publication.Program, "--listen", "unix:/run/" + new string('x', 103))).AssertRefused(2, "is not a valid address");

    [Fact]
    public async Task An_address_in_use_is_named()
    {
        using var other = new TcpListener(IPAddress.Loopback, 0);
        other.Start();
        string address = other.LocalEndpoint.ToString()!;

        (await ServeAsync("--listen", address)).AssertRefused(1, address, "in use");
        (await ServeAsync("--listen", "127.0.0.1:0", "--listen", address)).AssertRefused(1, address, "in use");
    }

    [Fact]
    public async Task An_address_of_another_server_of_ours_is_in_use_as_well()
    {
        using var folder = new TempFolder();
        string socket = "unix:" + folder.PathOf("m.sock");
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--listen", socket);

        (await ServeAsync("--listen", $"127.0.0.1:{server.Url.Port}")).AssertRefused(1, "in use");
        (await ServeAsync("--listen", socket)).AssertRefused(1, "in use");
        Assert.True(File.Exists(folder.PathOf("m.sock")));
    }

    [Theory]
    [InlineData("--listen", "[::]", "--listen", "[::]")]
    [InlineData("--listen", "0.0.0.0", "--listen", "0.0.0.0")]
    [InlineData("--https", "[::]", "--listen", "[::]")]
    public async Task One_address_for_two_is_refused(string flag, string address, string other, string same)
    {
        int port = FreePort.Find();

        (await ServeAsync(flag, $"{address}:{port}", other, $"{same}:{port}")).AssertRefused(2, $"{address}:{port} is used twice");
    }

    [Theory]
    [InlineData("1")]
    [InlineData("2")]
    public async Task Addresses_of_which_one_is_part_of_the_other_are_served_together(string reactors)
    {
        int port = FreePort.Find();
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--reactors", reactors, "--listen", $"0.0.0.0:{port}", "--listen", $"[::]:{port}");
        Assert.Equal(200, Wire.Get(new Uri($"http://127.0.0.1:{port}"), "/").Status);
        Assert.Equal(200, Wire.Get(new Uri($"http://[::1]:{port}"), "/").Status);
    }

    [Theory]
    [InlineData(1, "192.0.2.1:0", "not an address of this machine")]
    [InlineData(2, "unix:no-such-folder/m.sock", "no-such-folder' does not exist")]
    public async Task An_address_that_cannot_be_had_is_named(int exitCode, string address, string words) =>
        (await ServeAsync("--listen", address)).AssertRefused(exitCode, words);

    private static Task<ToolResult> ServeAsync(params string[] arguments) =>
        Tool.RunAsync(Publication.Program, [Places.SampleSite, .. arguments, .. Publication.BackendFlags]);
}
