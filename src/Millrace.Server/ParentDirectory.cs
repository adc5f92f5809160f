using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Server;

/// <summary>The folder of an existing or new file.</summary>
internal static class ParentDirectory
{
    public static string Of(string path) => Path.GetDirectoryName(Path.GetFullPath(path)) ?? "/";

    /// <summary>0 if the calling thread may create the file, or -errno.</summary>
    public static int MayMake(string path) => FileCalls.MayMakeIn(CString.Of(Of(path)));
}
