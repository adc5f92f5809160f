using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The Debian package as a file: with a stand-in for the program, since publishing takes a minute.</summary>
public class DebianPackageTests
{
    private const string StandIn = "/bin/true";

    [Fact]
    public async Task It_holds_the_program_its_settings_and_its_papers()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();

        string[] contents = await DebianPackage.ContentsAsync(await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1"));

        Assert.Contains("-rwxr-xr-x root/root /usr/bin/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /etc/default/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /etc/logrotate.d/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/millrace/welcome/index.html", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/doc/millrace/copyright", contents);
        Assert.All(Units, unit => Assert.Contains($"-rw-r--r-- root/root /usr/lib/systemd/system/{unit}", contents));
        Assert.Contains("-rw-r--r-- root/root /usr/share/man/man1/millrace.1.gz", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/bash-completion/completions/millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/zsh/vendor-completions/_millrace", contents);
        Assert.Contains("-rw-r--r-- root/root /usr/share/fish/vendor_completions.d/millrace.fish", contents);
        Assert.All(contents, static entry => Assert.Contains(" root/root /", entry, StringComparison.Ordinal));
    }

    [Fact]
    public async Task It_says_what_it_is_and_what_it_needs()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();

        string package = await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1");

        Assert.Equal("1.2.3-1", await DebianPackage.FieldAsync(package, "Version"));
        Assert.Equal(await ArchitectureAsync(), await DebianPackage.FieldAsync(package, "Architecture"));
        Assert.Contains("libssl3", await DebianPackage.FieldAsync(package, "Depends"), StringComparison.Ordinal);
        Assert.Equal("/etc/default/millrace\n/etc/logrotate.d/millrace", await DebianPackage.SayAsync("--info", package, "conffiles"));
    }

    /// <summary>Whoever makes it, whenever and where, and whatever their settings.</summary>
    [Fact]
    public async Task The_same_program_and_commit_make_the_same_package()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();
        using var elsewhere = new TempFolder();
        byte[] first = await File.ReadAllBytesAsync(await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1"));
        Assert.SkipUnless(Directory.Exists("/dev/shm"), "There is no second file system.");

        ToolResult again = await Tool.RunAsync(
            "env", "VERSION=1.2.3-1", "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "TMPDIR=/dev/shm", "DPKG_DEB_THREADS_MAX=2",
            "bash", "-c", $"umask 077; exec '{Script}' '{elsewhere.Root}' {StandIn}");

        Assert.True(again.ExitCode == 0, again.Error);
        Assert.Equal(first, await File.ReadAllBytesAsync(Directory.GetFiles(elsewhere.Root, "*.deb").Single()));
    }

    [Fact]
    public async Task Its_date_is_that_of_the_last_commit()
    {
        Tool.Require("dpkg-deb");
        Tool.Require("git");
        using var folder = new TempFolder();
        string commit = (await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(30), "git", "-C", Places.Repository, "log", "-1", "--date=format-local:%Y-%m-%d %H:%M", "--format=%cd")).Trim();

        string package = await DebianPackage.BuildAsync(folder, StandIn, "1.2.3-1");

        string[] entries = (await DebianPackage.SayAsync("--contents", package)).Split('\n');
        Assert.All(entries, entry => Assert.Contains($" {commit} ", entry, StringComparison.Ordinal));
    }

    [Fact]
    public async Task It_names_its_maintainer_and_a_build_without_one_says_so()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();
        const string Maintainer = "Ada L\u00f6velace & Daughters <ada@example.org>";

        ToolResult named = await DebianPackage.TryBuildAsync(folder, StandIn, "VERSION=1.2.3-1", $"MAINTAINER={Maintainer}");
        ToolResult unnamed = await DebianPackage.TryBuildAsync(folder, StandIn, "VERSION=1.2.4-1");

        Assert.Equal((0, 0), (named.ExitCode, unnamed.ExitCode));
        Assert.Equal("", named.Error);
        Assert.Equal(Maintainer, await DebianPackage.FieldAsync(Directory.GetFiles(folder.Root, "*1.2.3*").Single(), "Maintainer"));
        Assert.Contains("Set MAINTAINER=", unnamed.Error, StringComparison.Ordinal);
    }

    /// <summary>Debian sorts what has a tilde before what has not.</summary>
    [Theory]
    [InlineData("0.2.0", "0.2.0-1")]
    [InlineData("0.3.0-alpha.0.7", "0.3.0~alpha.0.7-1")]
    [InlineData("0.3.0-rc.1+0123abc", "0.3.0~rc.1-1")]
    public async Task Its_version_is_the_programs(string said, string version)
    {
        Tool.Require("dpkg-deb");
        Tool.Require("gcc");
        using var folder = new TempFolder();
        string program = await SayingAsync(folder, said);

        ToolResult result = await DebianPackage.TryBuildAsync(folder, program);

        Assert.True(result.ExitCode == 0, result.Error);
        Assert.Equal(version, await DebianPackage.FieldAsync(Directory.GetFiles(folder.Root, "*.deb").Single(), "Version"));
    }

    [Fact]
    public async Task A_program_that_cannot_say_its_version_needs_one()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();

        ToolResult result = await DebianPackage.TryBuildAsync(folder, StandIn);

        Assert.Equal(2, result.ExitCode);
        Assert.Contains("Set VERSION=", result.Error, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFiles(folder.Root, "*.deb"));
    }

    [Fact]
    public async Task What_is_no_program_is_refused()
    {
        Tool.Require("dpkg-deb");
        using var folder = new TempFolder();
        await File.WriteAllTextAsync(folder.PathOf("script"), "#!/bin/sh\necho this is no program of any machine\n");

        ToolResult result = await Tool.RunAsync(Script, folder.Root, folder.PathOf("script"));

        Assert.NotEqual(0, result.ExitCode);
        Assert.Contains("no program for amd64 or arm64", result.Error, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFiles(folder.Root, "*.deb"));
    }

    /// <summary>The units that are in this repository.</summary>
    internal static string[] Units => Directory.Exists(UnitFolder)
        ? [.. Directory.GetFiles(UnitFolder, "millrace*.*").Select(static path => Path.GetFileName(path)!).Where(static name =>
            name.EndsWith(".service", StringComparison.Ordinal) || name.EndsWith(".socket", StringComparison.Ordinal))]
        : [];

    private static string Script => Path.Combine(Places.Repository, "deploy", "debian", "build");

    private static string UnitFolder => Path.Combine(Places.Repository, "deploy", "systemd");

    /// <summary>A program that says this, whatever it is asked.</summary>
    private static async Task<string> SayingAsync(TempFolder folder, string text)
    {
        await File.WriteAllTextAsync(folder.PathOf("said.c"), $"#include <stdio.h>\nint main(void) {{ return puts(\"{text}\") < 0; }}\n");
        await Tool.RunToSuccessAsync(TimeSpan.FromMinutes(1), "gcc", "-o", folder.PathOf("said"), folder.PathOf("said.c"));
        return folder.PathOf("said");
    }

    private static async Task<string> ArchitectureAsync() =>
        (await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "dpkg", "--print-architecture")).Trim();
}
