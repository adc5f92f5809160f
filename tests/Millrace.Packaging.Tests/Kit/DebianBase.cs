using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>
/// A small Debian as an image, made by deploy/container/base. It stays in the machine's storage of images: it is the same for every run, and
/// takes minutes and a hundred downloads.
/// </summary>
internal static class DebianBase
{
    public const string Image = "localhost/millrace-test-base";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    public static async Task RequireAsync()
    {
        Assert.SkipUnless(Environment.UserName == "root", "Only root may make images.");
        Array.ForEach(["buildah", "debootstrap"], Tool.Require);
        if ((await Tool.RunAsync("buildah", "inspect", "--type", "image", Image)).ExitCode != 0)
        {
            await Tool.RunToSuccessAsync(Deadline, Path.Combine(Places.Repository, "deploy", "container", "base"), Image);
        }
    }
}
