using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Completions;

/// <summary>bash alone, as on a machine without the package bash-completion.</summary>
public class BashTests : ShellTests
{
    [Fact]
    public async Task The_package_bash_completion_finds_it_when_it_is_first_needed()
    {
        Assert.SkipUnless(File.Exists(BashShell.Package), "bash-completion is not installed.");
        using var shell = new BashShell(usesPackage: true);
        string[][] offers = await shell.OffersAsync("millrace ch", "millrace --backend=e", "millrace --listen 127.0.0.1:80 --list");
        Assert.Equal(["check"], offers[0]);
        Assert.Equal(["epoll"], offers[1]);
        Assert.Equal(["--listen", "--listing"], offers[2]);
    }

    [Theory]
    [InlineData("COMP_WORDBREAKS=\"${COMP_WORDBREAKS//=}\"")]
    [InlineData("COMP_WORDBREAKS=\"${COMP_WORDBREAKS//:}\"")]
    [InlineData("set -u")]
    [InlineData("shopt -s nullglob failglob nocasematch")]
    [InlineData("IFS=e")]
    public async Task What_a_user_has_set_does_not_disturb_it(string setting)
    {
        using var shell = new BashShell(before: setting);
        string[][] offers = await shell.OffersAsync("millrace ch", "millrace --backend=e", "millrace --backend ", "millrace --listen 127.0.0.1:80 --list");
        Assert.Equal(["check"], offers[0]);
        Assert.Equal(["epoll"], offers[1]);
        Assert.Equal(["auto", "epoll", "io_uring"], offers[2].Order());
        Assert.Equal(["--listen", "--listing"], offers[3]);
    }

    internal override Shell Open()
    {
        Tool.Require("script");
        return new BashShell();
    }
}
