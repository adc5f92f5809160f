using Millrace.StaticFiles;

namespace Millrace.Server.Configuration;

/// <summary>
/// The working directory's name at the start of the process. Relative paths are resolved against it, even if that directory has been
/// deleted and created again since, as builds do: the process itself stays in the deleted one. Any thread.
/// </summary>
internal static class StartDirectory
{
    private static readonly string? Name = Find();

    /// <summary>Resolves a path. Throws <see cref="SiteException"/> if the directory did not exist at the start.</summary>
    public static string Locate(string path) =>
        path.Length == 0 || Path.IsPathRooted(path) ? path
        : Name is not null ? Path.Combine(Name, Plain(path))
        : throw new SiteException(
            $"The working directory no longer exists, so the relative path '{path}' cannot be resolved.",
            "Change to an existing directory, or use an absolute path.");

    /// <summary>Resolves the path in an option's text, if there is one.</summary>
    public static string Locate(ServerOption option, string text)
    {
        int at = option.PathIn(text);
        string located = at < 0 ? text : text[..at] + Locate(text[at..]);

        // A unix socket's address is limited to 107 bytes: one that fits only as written stays unchanged.
        return option.Kind == OptionValueKind.Address && !ListenAddress.TryParse(located, out _) ? text : located;
    }

    /// <summary>Removes "." segments at the start. ".." is left to the kernel, which resolves it after following symlinks.</summary>
    private static string Plain(string path)
    {
        while (path.StartsWith("./", StringComparison.Ordinal))
        {
            path = path[2..].TrimStart('/');
        }

        return path == "." ? "" : path;
    }

    private static string? Find()
    {
        try
        {
            return Environment.CurrentDirectory;
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
