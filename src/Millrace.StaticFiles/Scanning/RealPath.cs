using System.Globalization;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Scanning;

/// <summary>A folder's path in the forms that are compared with those of others, each with a slash at its end. Immutable.</summary>
internal sealed class ComparedPath(string given)
{
    public string Given => given;

    public string Full { get; } = Path.GetFullPath(given).TrimEnd('/') + "/";

    /// <summary>Without links.</summary>
    public string Real { get; } = RealPath.Of(given).TrimEnd('/') + "/";
}

/// <summary>Paths without links, to compare where they lead. Any thread.</summary>
internal static class RealPath
{
    /// <summary>The path without links, as far as it exists.</summary>
    public static string Of(string path)
    {
        string full = Path.TrimEndingDirectorySeparator(Path.GetFullPath(path));
        int descriptor = FileContent.Open(CString.Of(full), OpenFlags.Path);
        if (descriptor < 0)
        {
            return Path.GetDirectoryName(full) is { } parent ? Path.Combine(Of(parent), Path.GetFileName(full)) : full;
        }

        try
        {
            return new FileInfo(string.Create(CultureInfo.InvariantCulture, $"/proc/self/fd/{descriptor}")).LinkTarget ?? full;
        }
        finally
        {
            _ = FileCalls.Close(descriptor);
        }
    }
}
