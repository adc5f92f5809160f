using System.Globalization;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Scanning;

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
