using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Scanning;
using Millrace.Tls;

namespace Millrace.Server.Doctor;

/// <summary>What follows from a problem of a configuration.</summary>
internal enum ProblemKind
{
    /// <summary>The server does not start.</summary>
    Refusal,

    /// <summary>The server starts and logs it, but does not serve all as configured.</summary>
    Fault,

    /// <summary>The server starts and logs it.</summary>
    Warning,
}

/// <summary>A problem of a configuration.</summary>
/// <param name="Subject">What it is about, in a word or two.</param>
/// <param name="Kind">What follows.</param>
/// <param name="Text">Cause and remedy, as the server prints or logs them.</param>
internal sealed record ConfigurationProblem(string Subject, ProblemKind Kind, string Text)
{
    public const string Root = "root";
    public const string Certificate = "certificate";
    public const string CongestionControl = "congestion control";
}

/// <summary>
/// Finds what a start with these options would refuse or warn of, for <c>check</c> and <c>doctor</c>. Changes nothing: binds no address,
/// writes no file. Its methods run one after the other, with the rights of the thread that calls.
/// </summary>
internal sealed class ConfigurationCheck : IDisposable
{
    private readonly ServeOptions _options;
    private readonly Action<ConfigurationProblem> _report;
    private readonly ILoggerFactory _logging;
    private readonly Lock _reporting = new();
    private string _logged = "";

    /// <param name="options">What would be served.</param>
    /// <param name="report">Receives each problem; calls do not overlap, but may come from several threads.</param>
    public ConfigurationCheck(ServeOptions options, Action<ConfigurationProblem> report)
    {
        _options = options;
        _report = report;
        _logging = LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Warning).AddProvider(new LogReader(this)));
    }

    public void Dispose() => _logging.Dispose();

    /// <summary>The configured certificates; null if they cannot be used.</summary>
    public IReadOnlyList<ServedCertificate>? Certificates()
    {
        _logged = ConfigurationProblem.Certificate;
        try
        {
            return HttpsEndpoint.Check(_options.Https, _logging);
        }
        catch (TlsException refusal)
        {
            Report(ConfigurationProblem.Certificate, ProblemKind.Refusal, refusal.Message);
            return null;
        }
    }

    /// <summary>The paths of logs and sockets, and what is set on sockets.</summary>
    public void Places()
    {
        foreach ((string subject, string text) in OutputCheck.RefusalsOf(_options))
        {
            Report(subject, ProblemKind.Refusal, text);
        }
    }

    /// <summary>The account of the authority, and the folder for certificates.</summary>
    public void Acme()
    {
        if (_options.Acme.IsOn && AcmeProblem() is { } problem)
        {
            Report("acme", ProblemKind.Refusal, problem);
        }
    }

    /// <summary>The sites, and the folders for their dictionaries.</summary>
    /// <param name="served">Receives each site that would be served, with its number of files.</param>
    public void Sites(Action<HostedSite, int>? served = null)
    {
        _logged = ConfigurationProblem.Root;
        var folders = DictionaryFolders.Of(_options);
        if (RefusalOf(() => folders.RequireUnserved(_options.Sites)) is { } refused)
        {
            Report("dictionaries", ProblemKind.Refusal, refused);
            return;
        }

        foreach ((string cause, string remedy) in folders.ProblemsOf(_options.Sites))
        {
            Report("dictionaries", ProblemKind.Warning, $"{cause}. {remedy}");
        }

        // Sites may share a file that cannot be used: it is reported once.
        var reported = new HashSet<string>(StringComparer.Ordinal);
        foreach (HostedSite site in _options.Sites)
        {
            foreach (string refusal in RefusalsOf(site, served).Where(reported.Add))
            {
                Report(ConfigurationProblem.Root, ProblemKind.Refusal, refusal);
            }
        }
    }

    private string? AcmeProblem()
    {
        try
        {
            AcmeManager.Check(_options.Acme.ToOptions(_options), AcmeService.AnsweredBy(_options));
            return AcmeProbe.FolderProblem(_options);
        }
        catch (Exception refusal) when (refusal is TlsException or AcmeConfigurationException)
        {
            return refusal.Message;
        }
    }

    private IEnumerable<string> RefusalsOf(HostedSite hosted, Action<HostedSite, int>? served)
    {
        try
        {
            if (RefusalOf(() => SiteAccess.Open(hosted.Site).Dispose()) is { } access)
            {
                return RefusalOf(() => RootDirectory.Open(hosted.Site.Root).Dispose()) is { } root ? [access, root] : [access];
            }

            SiteOptions options = hosted.Site with { Watch = WatchMode.Off, Compression = false, WorksInBackground = false };
            using Site site = Site.Open(options, _logging);
            site.CheckSiblings();
            served?.Invoke(hosted, site.Catalog.Current.AssetCount);
            return [];
        }
        catch (SiteException refusal)
        {
            return [refusal.Message];
        }
    }

    private static string? RefusalOf(Action action)
    {
        try
        {
            action();
            return null;
        }
        catch (SiteException refusal)
        {
            return refusal.Message;
        }
    }

    private void Report(string subject, ProblemKind kind, string text)
    {
        lock (_reporting)
        {
            _report(new ConfigurationProblem(subject, kind, text));
        }
    }

    /// <summary>Reports what is logged, for example lines of _headers and _redirects that cannot be used. Any thread.</summary>
    private sealed class LogReader(ConfigurationCheck check) : ILoggerProvider, ILogger
    {
        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            bool isFault = logLevel >= LogLevel.Error || SiteLog.MakesCheckFail(eventId) || TlsLog.MakesCheckFail(eventId);
            check.Report(check._logged, isFault ? ProblemKind.Fault : ProblemKind.Warning, formatter(state, exception));
        }

        public void Dispose()
        {
        }
    }
}

/// <summary>
/// Checks what a server would write, bind or set on sockets, without changing anything: log files, unix sockets, congestion control.
/// </summary>
internal static class OutputCheck
{
    /// <summary>Errors that would prevent a server from starting, each with its subject.</summary>
    public static IEnumerable<(string Subject, string Text)> RefusalsOf(ServeOptions options)
    {
        if (options.AccessLog.Destination is { } destination)
        {
            using ILogSink sink = LogDestination.Of(destination);
            if (sink.Try() is < 0 and int error)
            {
                yield return ("access log", LogDestination.Describe(sink.Name, destination, error));
            }
        }

        if (options.Https is { KeyLog: { } secrets, Addresses.Count: > 0 })
        {
            using var file = new FileSink(secrets);
            if (file.Try() is < 0 and int error)
            {
                yield return ("key log", KeyLog.DescribeRefusal(secrets, FileProblem.Of(secrets, error), error));
            }
        }

        if (options.ListensOnTcp && options.Engine.CongestionControl is { } control && CongestionControl.RefusalOf(control) is { } reason)
        {
            yield return (ConfigurationProblem.CongestionControl, reason);
        }

        IEnumerable<EndPoint?> addresses = [.. options.Https.Addresses, .. options.Addresses, options.Admin.Address];
        foreach (string refusal in addresses.OfType<UnixDomainSocketEndPoint>().Select(RefusalOf).OfType<string>())
        {
            yield return ("socket", refusal);
        }
    }

    private static string? RefusalOf(UnixDomainSocketEndPoint socket)
    {
        if (SocketEndPoint.FilePathOf(socket) is not { } path)
        {
            return null;
        }

        if (ParentDirectory.MayMake(path) is < 0 and int error)
        {
            return SocketEndPoint.DescribeRefusal(path, error);
        }

        // An existing socket may belong to a running server or be stale: the engine distinguishes them when it binds.
        return SocketEndPoint.IsOtherFile(socket) ? SocketEndPoint.Refusal(socket, Errno.EADDRINUSE).Message : null;
    }
}
