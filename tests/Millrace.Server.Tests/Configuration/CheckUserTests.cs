using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary><c>millrace check --user</c> and <c>millrace doctor --user</c>: what another user may read.</summary>
[SupportedOSPlatform("linux")]
public sealed class CheckUserTests : IDisposable
{
    private const UnixFileMode ForOwner = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private const UnixFileMode ForGroup = UnixFileMode.GroupRead | UnixFileMode.GroupWrite;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly TempFolder _folder = new();

    public CheckUserTests()
    {
        File.SetUnixFileMode(_folder.Root, Nobody.ForAll);
        Directory.CreateDirectory(_folder.PathOf("parent/site"), Nobody.ForAll);
        _folder.Add("parent/site/a.txt", 10);
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Files_that_the_user_cannot_open_again_are_named()
    {
        Nobody.RequireRoot();
        string[] certificate = OwnCertificate.MakeEncrypted(_folder, "a", "secret", "a.example");
        _folder.WriteText("password", "secret");
        _folder.WriteText("m.json", "{}");
        _folder.WriteText("a.log", "");
        string[] read = [certificate[1], certificate[3], _folder.PathOf("password"), _folder.PathOf("ca.crt"), _folder.PathOf("m.json")];
        File.Copy(certificate[1], read[3]);
        string[] inaccessible = [.. read, _folder.PathOf("a.log")];
        string[] flags =
        [
            _folder.PathOf("parent/site"), "--config", read[4], "--https", "127.0.0.1:0", .. certificate,
            "--key-password", read[2], "--client-ca", read[3], "--access-log", inaccessible[^1],
        ];

        // They are root's and his group's, and neither is nobody.
        SetModes(inaccessible, ForOwner | ForGroup);
        ToolResult asRoot = await Tool.RunAsync(Publication.Program, ["check", .. flags]);
        Assert.Equal((0, ""), (asRoot.ExitCode, asRoot.Error));
        ToolResult asNobody = await Tool.RunAsync(Publication.Program, ["check", .. flags, "--user", Nobody.UserAndGroup]);
        Assert.Equal(0, asNobody.ExitCode);
        Assert.Equal(
            [
                .. read.Select(static file => $"millrace: warning: {file} cannot be read again on SIGHUP as "),
                $"millrace: warning: {inaccessible[^1]} cannot be reopened on SIGUSR1 as ",
            ],
            asNobody.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(static line => line[..line.IndexOf(Nobody.UserAndGroup, StringComparison.Ordinal)]));

        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", .. flags, "--user", Nobody.UserAndGroup]);
        Assert.Equal(1, doctor.ExitCode);
        Assert.All(inaccessible, file => Assert.Contains($"  {file} cannot be ", doctor.Output, StringComparison.Ordinal));

        SetModes(inaccessible, UnixFileMode.OtherRead | UnixFileMode.OtherWrite);
        await AssertNothingInaccessibleAsync(flags);
        SetModes(inaccessible, ForGroup);
        await GiveAsync("65534", inaccessible);
        await AssertNothingInaccessibleAsync(flags);
    }

    [Fact]
    public async Task A_log_that_is_still_to_be_made_needs_a_folder_that_he_may_write()
    {
        Nobody.RequireRoot();
        string[] flags = ["--access-log", _folder.PathOf("a.log"), "--user", Nobody.UserAndGroup];
        ToolResult inaccessible = await CheckAsync(flags);
        Assert.Equal(0, inaccessible.ExitCode);
        Assert.StartsWith(
            $"millrace: warning: {_folder.PathOf("a.log")} cannot be reopened", inaccessible.Error, StringComparison.Ordinal);

        // A user who may write to a folder but not search it cannot create files there.
        File.SetUnixFileMode(_folder.Root, Nobody.ForAll | UnixFileMode.OtherWrite);
        Assert.Equal("", (await CheckAsync(flags)).Error);
        string unsearched = Directory.CreateDirectory(_folder.PathOf("unsearched"), Nobody.ForAll).FullName;
        File.SetUnixFileMode(unsearched, UnixFileMode.OtherRead | UnixFileMode.OtherWrite);
        ToolResult refused = await AsNobodyAsync("check", _folder.PathOf("parent/site"), "--listen", $"unix:{unsearched}/a.sock");
        Assert.Equal(2, refused.ExitCode);
        Assert.Contains($"The socket '{unsearched}/a.sock' cannot be created: this user has no permission", refused.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("parent")]
    [InlineData("parent/site")]
    public async Task A_folder_that_he_may_not_read_or_come_to_cannot_be_served(string closed)
    {
        Nobody.RequireRoot();
        File.SetUnixFileMode(_folder.PathOf(closed), UnixFileMode.UserRead | UnixFileMode.UserExecute | UnixFileMode.OtherRead);
        ToolResult check = await CheckAsync("--user", Nobody.UserAndGroup);
        Assert.Equal(2, check.ExitCode);
        Assert.DoesNotContain("Would serve", check.Output, StringComparison.Ordinal);
        ToolResult doctor = await Tool.RunAsync(Publication.Program, "doctor", _folder.PathOf("parent/site"), "--user", Nobody.UserAndGroup);
        Assert.Equal(2, doctor.ExitCode);
        Assert.Contains("broken  root", doctor.Output, StringComparison.Ordinal);
        Assert.Equal(0, (await CheckAsync()).ExitCode);
    }

    [Fact]
    public async Task All_groups_that_he_is_in_count_unless_one_is_named()
    {
        Nobody.RequireRoot();
        const string Readers = "4242";
        _folder.WriteText("group", $"{File.ReadAllText("/etc/group").TrimEnd('\n')}\nreaders:x:{Readers}:nobody\n");
        _folder.WriteText("m.json", "{}");
        File.SetUnixFileMode(_folder.PathOf("m.json"), ForOwner | ForGroup);
        await GiveAsync(Readers, _folder.PathOf("m.json"));
        string[] check = [Publication.Program, "check", _folder.PathOf("parent/site"), "--config", _folder.PathOf("m.json"), "--user"];

        ToolResult all = await AmongGroupsAsync([.. check, "nobody"]);
        Assert.Equal((0, ""), (all.ExitCode, all.Error));
        ToolResult one = await AmongGroupsAsync([.. check, "nobody:65534"]);
        Assert.StartsWith($"millrace: warning: {_folder.PathOf("m.json")} cannot be read again on SIGHUP", one.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Who_is_that_user_can_tell_and_of_others_says_that_he_cannot()
    {
        Nobody.RequireRoot();
        _folder.WriteText("m.json", "{}");
        File.SetUnixFileMode(_folder.PathOf("m.json"), UnixFileMode.OtherRead);
        string[] flags = [_folder.PathOf("parent/site"), "--config", _folder.PathOf("m.json"), "--user"];
        ToolResult own = await AsNobodyAsync(["check", .. flags, Nobody.UserAndGroup]);
        Assert.Equal((0, ""), (own.ExitCode, own.Error));
        ToolResult examined = await AsNobodyAsync(["doctor", .. flags, Nobody.UserAndGroup]);
        Assert.Contains($"  {Nobody.UserAndGroup} can reopen", examined.Output, StringComparison.Ordinal);

        foreach (string other in (string[])["1", "65534:0"])
        {
            ToolResult another = await AsNobodyAsync(["check", .. flags, other]);
            Assert.Equal(0, another.ExitCode);
            Assert.Contains($"Only root or '{other}' can check", another.Error, StringComparison.Ordinal);
            ToolResult doctor = await AsNobodyAsync(["doctor", .. flags, other]);
            Assert.Equal(2, doctor.ExitCode);
            Assert.Contains($"Cannot check what '{other}' may read", doctor.Output, StringComparison.Ordinal);
        }
    }

    /// <summary>As the start says it (<see cref="Host.SandboxTests"/>), once, for each user that asks.</summary>
    [Theory]
    [InlineData("root")]
    [InlineData("0")]
    public async Task Root_is_no_user_to_serve_as(string user)
    {
        string refusal = $"--user {user} gives up no rights: name a user other than root, or leave --user out.";
        string[] flags =
        [
            _folder.PathOf("parent/site"), "--user", user, "--https", "127.0.0.1:0", "--acme", "a@b.example",
            "--domain", "a.example", "--acme-dir", _folder.PathOf("acme"), "--access-log", _folder.PathOf("a.log"),
        ];
        ToolResult check = await Tool.RunAsync(Publication.Program, ["check", .. flags]);
        Assert.Equal(2, check.ExitCode);
        Assert.Equal(1, check.Error.Split(refusal).Length - 1);
        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", .. flags]);
        Assert.Equal(2, doctor.ExitCode);
        Assert.Equal(1, doctor.Output.Split($"--user {user} gives up no rights.").Length - 1);
        Assert.Equal(0, (await CheckAsync()).ExitCode);
    }

    private static void SetModes(string[] files, UnixFileMode mode) => Array.ForEach(files, file => File.SetUnixFileMode(file, mode));

    private static Task<string> GiveAsync(string group, params string[] files) =>
        Tool.RunToSuccessAsync(Deadline, "chgrp", [group, .. files]);

    private static async Task AssertNothingInaccessibleAsync(string[] flags)
    {
        ToolResult check = await Tool.RunAsync(Publication.Program, ["check", .. flags, "--user", Nobody.UserAndGroup]);
        Assert.Equal((0, ""), (check.ExitCode, check.Error));
        ToolResult doctor = await Tool.RunAsync(Publication.Program, ["doctor", .. flags, "--user", Nobody.UserAndGroup]);
        Assert.Contains($"  {Nobody.UserAndGroup} can reopen", doctor.Output, StringComparison.Ordinal);
    }

    private static Task<ToolResult> AsNobodyAsync(params string[] arguments)
    {
        Tool.Require("setpriv");
        return Tool.RunAsync("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", Publication.Program, .. arguments]);
    }

    /// <summary>With a list of groups of its own; skips the test where that cannot be laid over the system's.</summary>
    private async Task<ToolResult> AmongGroupsAsync(string[] command)
    {
        Tool.Require("unshare");
        string[] apart = ["--mount", "sh", "-c", "mount --bind \"$0\" /etc/group && exec \"$@\"", _folder.PathOf("group")];
        ToolResult possible = await Tool.RunAsync("unshare", [.. apart, "true"]);
        Assert.SkipUnless(possible.ExitCode == 0, $"Nothing can be mounted: {possible.Error}");
        return await Tool.RunAsync("unshare", [.. apart, .. command]);
    }

    private Task<ToolResult> CheckAsync(params string[] flags) =>
        Tool.RunAsync(Publication.Program, ["check", _folder.PathOf("parent/site"), .. flags]);
}
