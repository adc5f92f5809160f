namespace Millrace.Packaging.Tests;

/// <summary>
/// A program with another root, and /proc in it, without which the runtime does not start. The mount is in a namespace that ends with it.
/// </summary>
internal static class Chroot
{
    public const string Launcher = "unshare";

    /// <summary>The launcher's arguments. The program becomes the process that was started.</summary>
    public static string[] Arguments(string root, string program, params string[] arguments) =>
        ["--mount", "sh", "-c", "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" \"$@\"", root, program, .. arguments];
}
