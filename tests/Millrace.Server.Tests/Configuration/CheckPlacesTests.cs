using System.Net.Sockets;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary><c>millrace check</c> on files and sockets that a server would make.</summary>
public sealed class CheckPlacesTests : IDisposable
{
    private readonly TempFolder _folder = new();

    public CheckPlacesTests()
    {
        Directory.CreateDirectory(_folder.PathOf("site"));
        _folder.Add("site/a.txt", 10);
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_log_that_can_be_made_or_appended_to_is_fine_and_left_as_it_is()
    {
        _folder.WriteText("old.log", "a line\n");
        DateTime before = File.GetLastWriteTimeUtc(_folder.PathOf("old.log"));
        foreach (string log in (string[])["old.log", "new.log"])
        {
            ToolResult result = await CheckAsync("--access-log", _folder.PathOf(log), "--admin", "9180");
            Assert.Equal((0, ""), (result.ExitCode, result.Error));
            Assert.Contains($"Would write the access log to {_folder.PathOf(log)}\n", result.Output, StringComparison.Ordinal);
            Assert.Contains("Would serve admin pages on http://127.0.0.1:9180/\n", result.Output, StringComparison.Ordinal);
        }

        Assert.False(File.Exists(_folder.PathOf("new.log")));
        Assert.Equal("a line\n", File.ReadAllText(_folder.PathOf("old.log")));
        Assert.Equal(before, File.GetLastWriteTimeUtc(_folder.PathOf("old.log")));
    }

    [Theory]
    [InlineData("The access log cannot be opened at FOLDER/no/a.log: the folder 'FOLDER/no' does not exist", "--access-log", "FOLDER/no/a.log")]
    [InlineData("The access log cannot be opened at FOLDER: it is a directory", "--access-log", "FOLDER")]
    [InlineData("The access log cannot be opened at syslog (FOLDER/no): it does not exist", "--access-log", "syslog:FOLDER/no")]
    [InlineData("The socket 'FOLDER/no/a.sock' cannot be created: the folder 'FOLDER/no' does not exist", "--listen", "unix:FOLDER/no/a.sock")]
    [InlineData("The socket 'FOLDER/no/a.sock' cannot be created: the folder 'FOLDER/no' does not exist", "--admin", "unix:FOLDER/no/a.sock")]
    [InlineData("'FOLDER/site/a.txt' exists and is not a socket", "--listen", "unix:FOLDER/site/a.txt")]
    [InlineData("'no-such-user' is not a known user", "--user", "no-such-user")]
    public async Task What_a_server_would_refuse_is_refused(string words, params string[] flags)
    {
        ToolResult result = await CheckAsync([.. flags.Select(Filled)]);
        Assert.Equal(2, result.ExitCode);
        Assert.StartsWith($"millrace: {Filled(words)}", result.Error, StringComparison.Ordinal);
        Assert.Single(result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.Contains("Would serve", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_socket_that_is_there_is_no_obstacle()
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(_folder.PathOf("a.sock")));
        ToolResult result = await CheckAsync("--listen", $"unix:{_folder.PathOf("a.sock")}");
        Assert.Equal((0, ""), (result.ExitCode, result.Error));
    }

    private string Filled(string text) => text.Replace("FOLDER", _folder.Root, StringComparison.Ordinal);

    private Task<ToolResult> CheckAsync(params string[] flags) =>
        Tool.RunAsync(Publication.Program, ["check", _folder.PathOf("site"), .. flags]);
}
