using Millrace.Server.AccessLog;
using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Configuration;
using Millrace.Server.Https;

namespace Millrace.Server.Serving;

/// <summary>The server's own files, which no site may serve. Certificates are public, unless a key is in the same file.</summary>
internal static class ServerFiles
{
    /// <param name="options">The options.</param>
    /// <param name="configuration">The configuration file; null for none.</param>
    /// <param name="https">TLS as opened from the options.</param>
    public static IReadOnlyList<string> Of(ServeOptions options, string? configuration, HttpsEndpoint? https)
    {
        var files = new List<string>(options.Https.Certificates.Select(static files => files.Key));
        files.AddRange(options.Https.KeyPasswordPaths);
        files.AddRange(options.Sites.Select(static site => site.Site.PasswordFile).OfType<string>());
        files.AddRange(((string?[])[https?.Local?.Files.Key, options.Https.KeyLog, Located(configuration)]).OfType<string>());
        if (options.AccessLog.Destination is { } log)
        {
            using ILogSink sink = LogDestination.Of(log);
            if (sink is FileSink)
            {
                files.Add(log);
            }
        }

        return files;
    }

    /// <summary>Its path at the start, even if the working directory has changed since.</summary>
    private static string? Located(string? configuration) => configuration is null ? null : StartDirectory.Locate(configuration);
}
