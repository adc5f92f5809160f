using System.ComponentModel;
using System.Diagnostics;

namespace Millrace.Architecture.Tests;

/// <summary>The files of this repository: what git tracks or would, or a walk where there is no git.</summary>
internal static class Repository
{
    private static readonly string[] Unlisted = [".git", "bin", "obj", "artifacts", "node_modules", ".vs", ".idea"];

    /// <summary>The folder of the solution. Not from CallerFilePath: a CI build maps the paths of sources.</summary>
    public static string Root { get; } = FindRoot();

    public static IReadOnlyList<SourceFile> Files { get; } = ReadFiles();

    public static IEnumerable<SourceFile> SourcesUnder(string folder) =>
        Files.Where(file => file.Path.StartsWith(folder, StringComparison.Ordinal) && file.Path.EndsWith(".cs", StringComparison.Ordinal));

    public static IEnumerable<SourceFile> Documents => Files.Where(file => file.Path.EndsWith(".md", StringComparison.Ordinal));

    private static string FindRoot()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, "Millrace.slnx")))
        {
            folder = folder.Parent;
        }

        return folder?.FullName ?? throw new DirectoryNotFoundException("Millrace.slnx is in no folder above the tests.");
    }

    private static List<SourceFile> ReadFiles()
    {
        List<SourceFile> files = [];
        foreach (string path in (ListByGit() ?? ListByWalk(Root)).Order(StringComparer.Ordinal))
        {
            string fullPath = Path.Combine(Root, path);
            if (File.Exists(fullPath))
            {
                files.Add(SourceFile.Read(path, fullPath));
            }
        }

        return files;
    }

    /// <summary>Tracked files and new ones that are not ignored; null where git is missing or refuses the folder.</summary>
    private static string[]? ListByGit()
    {
        ProcessStartInfo start = new("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        {
            WorkingDirectory = Root,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        try
        {
            using Process git = Process.Start(start)!;
            string output = git.StandardOutput.ReadToEnd();
            git.WaitForExit();
            return git.ExitCode == 0 ? output.Split('\0', StringSplitOptions.RemoveEmptyEntries) : null;
        }
        catch (Win32Exception)
        {
            return null;
        }
    }

    internal static IEnumerable<string> ListByWalk(string root)
    {
        Stack<string> folders = new([root]);
        while (folders.TryPop(out string? folder))
        {
            foreach (string file in Directory.EnumerateFiles(folder))
            {
                yield return Path.GetRelativePath(root, file);
            }

            foreach (string child in Directory.EnumerateDirectories(folder))
            {
                if (!Unlisted.Contains(Path.GetFileName(child), StringComparer.Ordinal))
                {
                    folders.Push(child);
                }
            }
        }
    }
}
