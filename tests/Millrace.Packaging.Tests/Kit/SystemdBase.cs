using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The small Debian with systemd and what an operator has on a server, as an image that stays too.</summary>
internal static class SystemdBase
{
    public const string Image = "localhost/millrace-test-systemd";

    private static readonly string[] Packages = ["systemd-sysv", "dbus", "logrotate", "curl", "openssl"];

    public static async Task RequireAsync()
    {
        await DebianBase.RequireAsync();
        Array.ForEach(["unshare", "nsenter", "ip", "mount"], Tool.Require);
        if ((await Tool.RunAsync("buildah", "inspect", "--type", "image", Image)).ExitCode != 0)
        {
            await using DebianRoot root = await DebianRoot.MakeAsync(DebianBase.Image);
            await root.RunAsync("apt-get", "-q", "update");
            await root.RunAsync(
                "env", ["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "--no-install-recommends", "install", .. Packages]);
            await root.CommitAsync(Image);
        }
    }
}
