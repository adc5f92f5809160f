using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>A root for chroot: one program, and the libraries it needs.</summary>
internal static partial class BareRoot
{
    public static async Task MakeAsync(string root, string program)
    {
        Directory.CreateDirectory(Path.Combine(root, "proc"));
        File.Copy(program, Path.Combine(root, Path.GetFileName(program)));
        string openSsl = await LibraryAsync("libssl.so.3");
        string[] libraries = [.. await NeededAsync(program), openSsl, .. await NeededAsync(openSsl)];
        foreach (string library in libraries.Distinct())
        {
            string copy = root + library;
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(library, copy);
        }
    }

    /// <summary>The libraries that a program or library is linked to, with their own.</summary>
    private static async Task<IEnumerable<string>> NeededAsync(string file)
    {
        string listed = await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "ldd", file);
        return LibraryPath().Matches(listed).Select(static match => match.Value);
    }

    private static async Task<string> LibraryAsync(string name)
    {
        string cache = await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "ldconfig", "-p");
        return cache.Split('\n').First(line => line.TrimStart().StartsWith(name + " ", StringComparison.Ordinal)).Split("=> ")[1];
    }

    [GeneratedRegex(@"/\S+\.so\S*")]
    private static partial Regex LibraryPath();
}
