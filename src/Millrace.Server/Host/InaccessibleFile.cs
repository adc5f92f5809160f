using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.Configuration;

namespace Millrace.Server.Host;

/// <summary>A file that is open when the process changes its user, and that this user may not open again.</summary>
internal sealed record InaccessibleFile(string File, string Again, string Reason, string Remedy)
{
    /// <summary>Finds all of them, with the calling thread's rights.</summary>
    /// <param name="options">What is served.</param>
    /// <param name="configuration">The configuration file; null for none.</param>
    /// <param name="logIsNew">Whether the access log was created just now: then only its folder matters for the next one.</param>
    public static IReadOnlyList<InaccessibleFile> Find(ServeOptions options, string? configuration, bool logIsNew = false)
    {
        var found = new List<InaccessibleFile>();
        foreach (string file in options.Https.FilesRead.Concat(configuration is null ? [] : [configuration]).Distinct())
        {
            try
            {
                System.IO.File.OpenHandle(file).Dispose();
            }
            catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
            {
                found.Add(new InaccessibleFile(
                    file, "read again on SIGHUP", FileProblem.Of(file, refusal), "Make it readable for the user or its group."));
            }
        }

        if (options.AccessLog.Destination is { } log)
        {
            using ILogSink sink = LogDestination.Of(log);
            if (sink is FileSink && (logIsNew ? ParentDirectory.MayMake(log) : sink.Try()) is < 0 and int error)
            {
                // A log that does not exist yet will be given to that user.
                string remedy = logIsNew || !System.IO.File.Exists(log)
                    ? $"Make {ParentDirectory.Of(log)} writable for the user or its group, so that a new log can be created there after "
                        + "rotation."
                    : "Make the file and its folder writable for the user or its group.";
                found.Add(new InaccessibleFile(log, "reopened on SIGUSR1", FileProblem.Of(log, error), remedy));
            }
        }

        return found;
    }

    public string Describe(string user) => $"{File} cannot be {Again} as {user}: {Reason}. {Remedy}";
}

/// <summary>The folder of an existing or new file.</summary>
internal static class ParentDirectory
{
    public static string Of(string path) => Path.GetDirectoryName(Path.GetFullPath(path)) ?? "/";

    /// <summary>0 if the calling thread may create the file, or -errno.</summary>
    public static int MayMake(string path) => FileCalls.MayMakeIn(CString.Of(Of(path)));

    /// <summary>0 if the calling thread may create files in a folder, or in what exists above it; or -errno.</summary>
    public static int MayMakeIn(string folder)
    {
        string? existing = Path.GetFullPath(folder);
        while (existing is not null && !Path.Exists(existing))
        {
            existing = Path.GetDirectoryName(existing);
        }

        return existing is null ? -Errno.ENOENT : File.Exists(existing) ? -Errno.ENOTDIR : MayMake(Path.Combine(existing, "x"));
    }
}
