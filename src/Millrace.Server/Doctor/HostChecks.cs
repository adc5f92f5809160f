using System.Globalization;
using Millrace.Engine;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Terminal;

namespace Millrace.Server.Doctor;

/// <summary>Checks a host: pure functions from facts to findings, each with its threshold and the reason for it.</summary>
internal static class HostChecks
{
    /// <summary>The first kernel with both provided-buffer rings and deferred task work.</summary>
    private static readonly Version KernelMin = new(6, 1);

    /// <summary>
    /// Locked memory of one reactor's ring with the default sizes: 512 submissions of 64 bytes, 4,096 completions of 16, 1,024 buffers of
    /// 16, each rounded up to whole pages. Kernels from 6.13 on charge it to RLIMIT_MEMLOCK again; those from 5.12 did not.
    /// </summary>
    private const long RingBytes = 128 * 1024;

    /// <summary>Half are for files; a busy site has thousands of connections at once.</summary>
    private const long DescriptorsPlenty = 16_384;

    /// <summary>Their content changes without this kernel's knowledge, and a read may wait for a network or another process.</summary>
    private static readonly string[] RemoteFileSystems =
        ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse", "fuseblk", "virtiofs", "afs", "gfs2", "ocfs2", "lustre", "vboxsf"];

    private static readonly (string Subject, Func<HostFacts, IEnumerable<Finding>> Check)[] Checks =
    [
        ("kernel", static host => [Kernel(host)]),
        ("io_uring", static host => [Uring(host.Engine)]),
        ("locked memory", static host => [LockedMemory(host)]),
        ("descriptors", static host => [Descriptors(host)]),
        (ConfigurationProblem.Root, Root),
        ("user", User),
        ("file system", static host => [FileSystem(host.Root)]),
        ("watches", static host => [Watches(host)]),
        ("compression", static host => [Compression(host)]),
        ("processors", static host => [Processors(host)]),
        (ConfigurationProblem.CongestionControl, CongestionControl),
        ("accept queue", static host => [Backlog(host)]),
        ("HTTP/3", static host => DatagramChecks.Of(host.Datagrams)),
        (ConfigurationProblem.Certificate, Certificates),
        ("acme", Acme),
        ("application", static host => host.Upstreams.Select(Application)),
    ];

    /// <summary>By subject: first what is found of the host, then the problems of the configuration.</summary>
    public static IReadOnlyList<Finding> Of(HostFacts host) =>
    [
        .. Checks.SelectMany(check => check.Check(host).Select(finding => finding with { Subject = check.Subject })
            .Concat(host.Problems.Where(problem => problem.Subject == check.Subject).Select(Problem))),
        .. host.Problems.Where(static problem => !Array.Exists(Checks, check => check.Subject == problem.Subject)).Select(Problem),
    ];

    public static HostCheckResult Worst(IEnumerable<Finding> findings) => findings.Max(static finding => finding.Result);

    private static Finding Kernel(HostFacts host)
    {
        string text = $"Linux {host.KernelRelease} on {host.Architecture}";
        IEnumerable<char> digits = host.KernelRelease.TakeWhile(static letter => char.IsAsciiDigit(letter) || letter == '.');
        return !Version.TryParse(string.Concat(digits).TrimEnd('.'), out Version? version) || version >= KernelMin
            ? Finding.Ok(text)
            : Finding.Slower(
                $"{text} is older than {KernelMin}, the first kernel with all io_uring features that Millrace uses",
                $"Use Linux {KernelMin} or newer.");
    }

    private static Finding Uring(EngineFacts engine)
    {
        if (engine.StartRefusal is string refusal)
        {
            (string cause, string remedy) = Split(refusal);
            return Finding.Broken($"The engine does not start: {cause}", remedy);
        }

        if (engine.IoUringRefusal is string obstacle)
        {
            (string cause, string remedy) = Split(obstacle);
            return Finding.Slower($"{cause}; {engine.Backend} is used instead", remedy);
        }

        return Finding.Ok(engine.Configured == BackendKind.Epoll
            ? "Not used: epoll is configured, and works"
            : $"Works; {engine.Backend} is used");
    }

    private static Finding LockedMemory(HostFacts host)
    {
        long needed = host.Reactors * RingBytes;
        return host.LockedBytesMax is not long limit ? Finding.Ok("There is no limit")
            : limit >= needed ? Finding.Ok($"{Size(limit)} may be locked; the rings need at most {Size(needed)}")
            : Finding.Slower(
                $"{Size(limit)} may be locked (RLIMIT_MEMLOCK); the rings of {Counted.Of(host.Reactors, "reactor")} may need "
                    + Size(needed),
                "Raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file), or use fewer reactors.");
    }

    private static Finding Descriptors(HostFacts host)
    {
        const string Remedy = "Raise the hard limit ('ulimit -Hn', LimitNOFILE= in a unit file, --ulimit nofile= of a container).";
        if (host.DescriptorsSoft is not long soft)
        {
            return Finding.Ok("There is no limit");
        }

        // The runtime raises its soft limit to the hard limit at the start: where they differ, something prevents that.
        if (host.DescriptorsHard is not long hard || soft < hard)
        {
            string all = Count(host.DescriptorsHard);
            return Finding.Slower(
                $"{soft:N0} descriptors may be open, although the hard limit is {all}", "Raise the soft limit: 'ulimit -Sn'.");
        }

        // Whether it starts with so few is what the trial start shows.
        string text = $"{hard:N0} descriptors may be open: half for files, half for connections";
        return hard >= DescriptorsPlenty ? Finding.Ok(text)
            : Finding.Slower($"{text}; {DescriptorsPlenty:N0} are plenty, with fewer requests may fail under load", Remedy);
    }

    private static Finding Problem(ConfigurationProblem problem)
    {
        bool isRefusal = problem.Kind == ProblemKind.Refusal;
        // Log lines have colons of other kinds.
        (string cause, string remedy) = isRefusal ? Split(problem.Text) : SplitSentences(problem.Text);
        return new Finding(cause, isRefusal ? HostCheckResult.Broken : HostCheckResult.Slower, remedy) { Subject = problem.Subject };
    }

    private static bool IsRefused(HostFacts host, string subject) =>
        host.Problems.Any(problem => problem.Subject == subject && problem.Kind == ProblemKind.Refusal);

    private static IEnumerable<Finding> Root(HostFacts host) =>
        IsRefused(host, ConfigurationProblem.Root) ? [] : [Finding.Ok($"'{host.Root.Path}' can be read")];

    /// <summary>Empty if no user is configured.</summary>
    private static IEnumerable<Finding> User(HostFacts host)
    {
        if (host.User is not { } user)
        {
            yield break;
        }

        if (user.Problem is { } problem)
        {
            (string cause, string remedy) = Split(problem);
            yield return Finding.Broken(cause, remedy);
        }
        else if (user.InaccessibleFiles.Count == 0)
        {
            yield return Finding.Ok($"{user.Name} can reopen all files that a reload reads");
        }

        foreach (InaccessibleFile file in user.InaccessibleFiles)
        {
            yield return Finding.Slower($"{file.File} cannot be {file.Again} as {user.Name}: {file.Reason}", file.Remedy);
        }
    }

    private static Finding FileSystem(RootFacts root)
    {
        if (root.FileSystem is null)
        {
            return Finding.Ok("Not checked");
        }

        return (IsRemote(root.FileSystem), root.CachedRead) switch
        {
            (true, _) => Finding.Slower(
                $"{root.FileSystem}: no change notifications, so each request checks its file, and reads may block on remote systems",
                "Serve a copy on a local disk."),
            (_, CachedRead.Inline) => Finding.Ok($"{root.FileSystem}: cached data is read without waiting"),
            (_, CachedRead.Unsupported) => Finding.Slower(
                $"{root.FileSystem}: cached reads cannot be detected (no RWF_NOWAIT), so large files are always read through the ring",
                "Serve from a volume (ext4, xfs, btrfs) rather than from a container's layers or memory."),
            (_, CachedRead.WouldWait) => Finding.Slower(
                $"{root.FileSystem}: data just read is not cached",
                "Give the machine more memory, or use a file system with a page cache."),
            _ => Finding.Ok($"{root.FileSystem}: no file to test reads with"),
        };
    }

    private static Finding Watches(HostFacts host)
    {
        if (host.WatchesMax is not long watches || host.WatchInstancesMax is not long instances)
        {
            return Finding.Slower(
                "inotify is not available: each request checks its file", "Use a kernel and a sandbox with inotify.");
        }

        long directories = host.Root.Directories;
        string settings = string.Create(
            CultureInfo.InvariantCulture,
            $"fs.inotify.max_user_watches={Math.Max(2 * directories, 8192)} fs.inotify.max_user_instances={Math.Max(instances, 128)}");
        return instances > 0 && watches >= directories
            ? Finding.Ok($"{Counted.Of(directories, "directory", "directories")}, {Counted.Of(watches, "watch", "watches")}")
            : Finding.Slower(
                $"{Counted.Of(directories, "directory needs a watch", "directories need a watch each")}; the limits are "
                    + $"{Counted.Of(watches, "watch", "watches")} and {Counted.Of(instances, "instance")}: "
                + "each request checks its file",
                $"sysctl -w {settings}.");
    }

    private static Finding Processors(HostFacts host)
    {
        string text = string.Create(CultureInfo.InvariantCulture, $"{host.Processors} of {host.ProcessorsOnline} cores are available");
        if (host.QuotaCores is not double quota)
        {
            return Finding.Ok(text);
        }

        text += string.Create(CultureInfo.InvariantCulture, $", limited to {quota:0.##} cores by the cgroup's quota");
        return quota >= host.Processors
            ? Finding.Ok(text)
            : Finding.Slower(
                $"{text}: all threads stop when the quota is used up",
                $"Assign whole cores (--cpuset-cpus of a container), or start with --reactors {Math.Max(1, (int)quota)}.");
    }

    private static IEnumerable<Finding> CongestionControl(HostFacts host) => IsRefused(host, ConfigurationProblem.CongestionControl) ? [] :
    [
        (host.ConfiguredCongestionControl ?? host.CongestionControl) switch
        {
            null => Finding.Ok("Not readable here"),
            "reno" => Finding.Slower(
                "reno takes minutes to fill a fast long-distance connection",
                "Start with --congestion-control bbr (or cubic, the kernel's default), or sysctl -w net.ipv4.tcp_congestion_control=bbr."),
            string name => Finding.Ok(name),
        },
    ];

    private static Finding Compression(HostFacts host) => host is { ZstdProblem: string missing, UsesDictionaries: true }
        ? Finding.Broken(
            $"--dictionaries and --page-dictionary have no effect: {missing}", "Install libzstd 1.4.0 or newer (Debian: libzstd1).")
        : host.ZstdProblem is string problem
        ? Finding.Slower($"Files are compressed with brotli and gzip only: {problem}", "Install libzstd 1.4.0 or newer (Debian: libzstd1).")
        : Finding.Ok($"Files are compressed with brotli, zstd and gzip{(host.UsesDictionaries ? CodingsOf(host) : "")}");

    /// <summary>Without dcb it is no slower: clients that have it have dcz too.</summary>
    private static string CodingsOf(HostFacts host) => host.BrotliVersion is { } version
        ? $", and with dictionaries (dcz, and dcb by libbrotli {version})"
        : $", and with dictionaries (dcz; no dcb: {host.BrotliProblem})";

    private static Finding Backlog(HostFacts host)
    {
        int wanted = new Limits().Backlog;
        return host.BacklogMax is not long limit ? Finding.Ok("The limit is not readable here")
            : limit >= wanted ? Finding.Ok($"{limit:N0} connections may wait to be accepted")
            : Finding.Slower(
                $"{limit:N0} connections may wait to be accepted; bursts need more",
                string.Create(CultureInfo.InvariantCulture, $"sysctl -w net.core.somaxconn={wanted}."));
    }

    /// <summary>Empty if none is configured.</summary>
    private static IEnumerable<Finding> Certificates(HostFacts host)
    {
        foreach (ServedCertificate certificate in host.Certificates)
        {
            string text = $"{certificate.File} ({certificate.Hosts}) {certificate.Validity(host.Now)}";
            yield return certificate.StateAt(host.Now) switch
            {
                CertificateState.Expired => Finding.Broken($"{text}: clients refuse it", "Renew it."),
                CertificateState.Early => Finding.Broken($"{text}: clients refuse it", "Check the clock of this machine."),
                CertificateState.Due => Finding.Slower(text, "Renew it."),
                _ => Finding.Ok(text),
            };
        }
    }

    /// <summary>An application may start after the server: requests to it are 502 until then.</summary>
    private static Finding Application(UpstreamFacts upstream) => upstream.Problem is { } problem
        ? Finding.Slower(
            $"{upstream.Target} cannot be connected to ({problem}), so that requests to it are answered with 502",
            "Start the application, or correct --proxy.")
        : Finding.Ok($"{upstream.Target} accepts connections");

    private static IEnumerable<Finding> Acme(HostFacts host)
    {
        foreach (AcmeNameFacts name in host.AcmeNames)
        {
            string addresses = string.Join(", ", name.Addresses);
            string[] closed = [.. name.Ports.Where(static port => !port.Answers).Select(static port => $"{port.Port}")];
            yield return name.Addresses.Count == 0
                ? Finding.Slower($"{name.Name} does not resolve here", "Add an A or AAAA record that names this machine.")
                : closed.Length == 0 ? Finding.Ok($"{name.Name} ({addresses}) can be connected to")
                : Finding.Slower(
                    $"{name.Name} ({addresses}) cannot be connected to on port {string.Join(" and ", closed)}",
                    "Open the port in the firewall, or forward it to this server. An authority needs one of 80 and 443.");
        }
    }

    private static bool IsRemote(string fileSystem) =>
        RemoteFileSystems.Contains(fileSystem, StringComparer.Ordinal) || fileSystem.StartsWith("fuse.", StringComparison.Ordinal);

    /// <summary>Splits "Cause. Remedy.", or the engine's "cause: remedy.", into two sentences.</summary>
    private static (string Cause, string Remedy) Split(string refusal)
    {
        (string cause, string remedy) = SplitSentences(refusal);
        int colon = cause.IndexOf(": ", StringComparison.Ordinal);
        return remedy.Length > 0 || colon < 0
            ? (cause, remedy)
            : (cause[..colon], $"{char.ToUpperInvariant(cause[colon + 2])}{cause[(colon + 3)..]}.");
    }

    private static (string Cause, string Remedy) SplitSentences(string text)
    {
        int end = text.IndexOf(". ", StringComparison.Ordinal);
        return end < 0 ? (text.TrimEnd('.'), "") : (text[..end], text[(end + 2)..]);
    }

    private static string Count(long? limit) => limit is long number ? number.ToString("N0", CultureInfo.InvariantCulture) : "any number";

    private static string Size(long bytes) => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1024:N0} KiB");
}

/// <summary>The result of one check.</summary>
/// <param name="Text">The finding, in a sentence without its full stop.</param>
/// <param name="Result">The effect on serving.</param>
/// <param name="Remedy">The remedy, in a sentence; empty if nothing is to be done.</param>
internal sealed record Finding(string Text, HostCheckResult Result, string Remedy)
{
    /// <summary>The subject, in a word or two.</summary>
    public string Subject { get; init; } = "";

    public static Finding Ok(string text) => new(text, HostCheckResult.Ok, "");

    public static Finding Slower(string text, string remedy) => new(text, HostCheckResult.Slower, remedy);

    public static Finding Broken(string text, string remedy) => new(text, HostCheckResult.Broken, remedy);
}

/// <summary>The effect of a finding on serving, from good to bad. The worst one is the exit code of <c>millrace doctor</c>.</summary>
internal enum HostCheckResult
{
    Ok = 0,

    /// <summary>Serving works, but slower or less than it could.</summary>
    Slower = 1,

    Broken = 2,
}
