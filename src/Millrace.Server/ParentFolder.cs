using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Server;

/// <summary>The folder that a file is in, or would be.</summary>
internal static class ParentFolder
{
    public static string Of(string path) => Path.GetDirectoryName(Path.GetFullPath(path)) ?? "/";

    /// <summary>0 where the calling thread may make the file, or -errno.</summary>
    public static int MayMake(string path) => FileCalls.MayMakeIn(CString.Of(Of(path)));
}
