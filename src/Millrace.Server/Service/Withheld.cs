using Millrace.Interop;
using Millrace.Server.AccessLog;
using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Options;

namespace Millrace.Server.Service;

/// <summary>A file that is open when the process becomes its user, who may not open it again.</summary>
/// <param name="File">Its path.</param>
/// <param name="Again">What cannot be done then, and when.</param>
/// <param name="Reason">Why not.</param>
/// <param name="Remedy">What to do.</param>
internal sealed record Withheld(string File, string Again, string Reason, string Remedy)
{
    /// <summary>All of them, as the calling thread's rights are.</summary>
    /// <param name="options">What is served.</param>
    /// <param name="configuration">The file that says so; null for none.</param>
    /// <param name="logIsNew">Whether the access log was made just now, and so only its folder matters to who makes the next one.</param>
    public static IReadOnlyList<Withheld> Find(ServeOptions options, string? configuration, bool logIsNew = false)
    {
        var found = new List<Withheld>();
        foreach (string file in options.Https.FilesRead.Concat(configuration is null ? [] : [configuration]).Distinct())
        {
            try
            {
                System.IO.File.OpenHandle(file).Dispose();
            }
            catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
            {
                found.Add(new Withheld(file, "read anew on SIGHUP", refusal.Message, "Let its group read it."));
            }
        }

        if (options.AccessLog.Destination is { } log)
        {
            using ILogSink sink = LogDestination.Of(log);
            if (sink is FileSink && (logIsNew ? ParentFolder.MayMake(log) : sink.Try()) is < 0 and int error)
            {
                // One that is still to be made is given to that user.
                string remedy = logIsNew || !System.IO.File.Exists(log)
                    ? $"Let its group write {ParentFolder.Of(log)}, as a renamed log has a new one made there."
                    : "Let its group write it, and its folder.";
                found.Add(new Withheld(log, "opened anew on SIGUSR1", Errno.Describe(error), remedy));
            }
        }

        return found;
    }

    /// <summary>In a sentence.</summary>
    public string Describe(string user) => $"{File} is open by then, and cannot be {Again}: {user} may not ({Reason}). {Remedy}";
}
