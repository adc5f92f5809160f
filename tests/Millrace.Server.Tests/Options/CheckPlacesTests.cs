using System.Net.Sockets;
using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Options;

/// <summary><c>millrace check</c> and <c>millrace doctor</c> on files that a server would make, and on those of another user.</summary>
[SupportedOSPlatform("linux")]
public sealed class CheckPlacesTests : IDisposable
{
    private const string Nobody = "65534:65534";

    private const UnixFileMode ForAll = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    private readonly TempFolder _folder = new();

    public CheckPlacesTests()
    {
        File.SetUnixFileMode(_folder.Root, ForAll);
        Directory.CreateDirectory(_folder.PathOf("site"), ForAll);
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
            Assert.Contains($"Would write a line for each request to {_folder.PathOf(log)}\n", result.Output, StringComparison.Ordinal);
            Assert.Contains("Would show admin pages on http://127.0.0.1:9180/\n", result.Output, StringComparison.Ordinal);
        }

        Assert.False(File.Exists(_folder.PathOf("new.log")));
        Assert.Equal("a line\n", File.ReadAllText(_folder.PathOf("old.log")));
        Assert.Equal(before, File.GetLastWriteTimeUtc(_folder.PathOf("old.log")));
    }

    [Theory]
    [InlineData("The access log cannot be opened at FOLDER/no/a.log: No such file or directory", "--access-log", "FOLDER/no/a.log")]
    [InlineData("The access log cannot be opened at FOLDER: Is a directory", "--access-log", "FOLDER")]
    [InlineData("The access log cannot be opened at syslog (FOLDER/no): No such file or directory", "--access-log", "syslog:FOLDER/no")]
    [InlineData("No socket can be made in 'FOLDER/no': No such file or directory", "--listen", "unix:FOLDER/no/a.sock")]
    [InlineData("No socket can be made in 'FOLDER/no': No such file or directory", "--admin", "unix:FOLDER/no/a.sock")]
    [InlineData("'FOLDER/site/a.txt' is no socket", "--listen", "unix:FOLDER/site/a.txt")]
    [InlineData("127.0.0.1:9180 is listened on twice", "--listen", "127.0.0.1:9180", "--admin", "9180")]
    [InlineData("No user 'no-such-user' is known here", "--user", "no-such-user")]
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

    [Fact]
    public async Task With_a_user_it_is_told_what_he_cannot_open_again()
    {
        RequireRoot();
        string[] certificate = OwnCertificate.Make(_folder, "a", "a.example");
        _folder.WriteText("m.json", "{}");
        _folder.WriteText("a.log", "");
        string[] withheld = [certificate[3], _folder.PathOf("m.json"), _folder.PathOf("a.log")];
        Array.ForEach(withheld, static file => File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite));
        string[] flags =
        [
            _folder.PathOf("site"), "--config", _folder.PathOf("m.json"), "--https", "127.0.0.1:0", .. certificate,
            "--access-log", _folder.PathOf("a.log"),
        ];

        ToolResult asRoot = await Tool.RunAsync(Publication.Program, ["check", .. flags]);
        Assert.Equal((0, ""), (asRoot.ExitCode, asRoot.Error));
        ToolResult asNobody = await Tool.RunAsync(Publication.Program, ["check", .. flags, "--user", Nobody]);
        Assert.Equal(0, asNobody.ExitCode);
        Assert.Equal(
            [
                $"millrace: {withheld[0]} is open by then, and cannot be read anew on SIGHUP: ",
                $"millrace: {withheld[1]} is open by then, and cannot be read anew on SIGHUP: ",
                $"millrace: {withheld[2]} is open by then, and cannot be opened anew on SIGUSR1: ",
            ],
            asNobody.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(static line => line[..line.IndexOf(Nobody, StringComparison.Ordinal)]));

        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", .. flags, "--user", Nobody]);
        Assert.Equal(1, doctor.ExitCode);
        Assert.All(withheld, file => Assert.Contains($"  {file} is open by then", doctor.Output, StringComparison.Ordinal));

        Array.ForEach(withheld, static file => File.SetUnixFileMode(file, UnixFileMode.OtherRead | UnixFileMode.OtherWrite));
        ToolResult mended = await Tool.RunAsync(Publication.Program, ["check", .. flags, "--user", Nobody]);
        Assert.Equal((0, ""), (mended.ExitCode, mended.Error));
        ToolResult healed = await Tool.RunAsync(Publication.Program, ["doctor", .. flags, "--user", Nobody]);
        Assert.Contains($"  {Nobody} may open again", healed.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_folder_that_the_user_may_not_read_cannot_be_served()
    {
        RequireRoot();
        File.SetUnixFileMode(_folder.PathOf("site"), UnixFileMode.UserRead | UnixFileMode.UserExecute);
        ToolResult check = await CheckAsync("--user", Nobody);
        Assert.Equal((2, ""), (check.ExitCode, check.Output.Split('\n').FirstOrDefault(static line => line.StartsWith("Would serve", StringComparison.Ordinal)) ?? ""));
        ToolResult doctor = await Tool.RunAsync(Publication.Program, "doctor", _folder.PathOf("site"), "--user", Nobody);
        Assert.Equal(2, doctor.ExitCode);
        Assert.Contains("broken  root", doctor.Output, StringComparison.Ordinal);
        Assert.Equal(0, (await CheckAsync()).ExitCode);
    }

    [Fact]
    public async Task Who_is_not_root_cannot_tell_and_says_so()
    {
        RequireRoot();
        Tool.Require("setpriv");
        ToolResult result = await Tool.RunAsync(
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", Publication.Program, "check", _folder.PathOf("site"), "--user", "0");
        Assert.Equal(0, result.ExitCode);
        Assert.Contains("What '0' may read can only be told by root", result.Error, StringComparison.Ordinal);
    }

    private static void RequireRoot() => Assert.SkipUnless(Environment.IsPrivilegedProcess, "Only root may look as somebody else.");

    private string Filled(string text) => text.Replace("FOLDER", _folder.Root, StringComparison.Ordinal);

    private Task<ToolResult> CheckAsync(params string[] flags) =>
        Tool.RunAsync(Publication.Program, ["check", _folder.PathOf("site"), .. flags]);
}
