using Millrace.Engine;
using Millrace.Server.Host;
using Millrace.Server.Https;

namespace Millrace.Server.Doctor;

/// <summary>
/// Facts about this host that matter to a server: read once by <see cref="HostReader"/>, evaluated by <see cref="HostChecks"/>.
/// </summary>
internal sealed record HostFacts
{
    /// <summary><c>uname -r</c>: 6.1.0-18-amd64.</summary>
    public required string KernelRelease { get; init; }

    /// <summary>x64, arm64.</summary>
    public required string Architecture { get; init; }

    public required EngineFacts Engine { get; init; }

    public required RootFacts Root { get; init; }

    /// <summary>The configured user; null if the server keeps the user who starts it.</summary>
    public UserFacts? User { get; init; }

    /// <summary>Cores that this process may use, with a cgroup's quota rounded up.</summary>
    public required int Processors { get; init; }

    public required int Reactors { get; init; }

    public required int ProcessorsOnline { get; init; }

    /// <summary>The cgroup's quota for all threads together, in cores; null without a limit.</summary>
    public double? QuotaCores { get; init; }

    /// <summary>RLIMIT_MEMLOCK in bytes; null without a limit, also with CAP_IPC_LOCK.</summary>
    public long? LockedBytesMax { get; init; }

    /// <summary>RLIMIT_NOFILE; null without a limit.</summary>
    public long? DescriptorsSoft { get; init; }

    public long? DescriptorsHard { get; init; }

    /// <summary>fs.inotify.max_user_watches; null if not readable.</summary>
    public long? WatchesMax { get; init; }

    /// <summary>fs.inotify.max_user_instances.</summary>
    public long? WatchInstancesMax { get; init; }

    /// <summary>Why there is no zstd, as a clause; null if there is.</summary>
    public string? ZstdProblem { get; init; }

    /// <summary>The version of a libbrotli that takes dictionaries; null if there is none.</summary>
    public Version? BrotliVersion { get; init; }

    /// <summary>Why there is none, as a clause.</summary>
    public string? BrotliProblem { get; init; }

    /// <summary>Whether a site codes with dictionaries, which needs zstd.</summary>
    public bool UsesDictionaries { get; init; }

    /// <summary>net.core.somaxconn.</summary>
    public long? BacklogMax { get; init; }

    /// <summary>net.ipv4.tcp_congestion_control.</summary>
    public string? CongestionControl { get; init; }

    /// <summary>The configured congestion control; null for the kernel's.</summary>
    public string? ConfiguredCongestionControl { get; init; }

    /// <summary>Null without HTTP/3.</summary>
    public DatagramFacts? Datagrams { get; init; }

    public DateTimeOffset Now { get; init; }

    public IReadOnlyList<ServedCertificate> Certificates { get; init; } = [];

    /// <summary>The names that certificates are to be obtained for.</summary>
    public IReadOnlyList<AcmeNameFacts> AcmeNames { get; init; } = [];

    /// <summary>The applications that requests are sent to.</summary>
    public IReadOnlyList<UpstreamFacts> Upstreams { get; init; } = [];

    /// <summary>What a start would refuse or warn of.</summary>
    public IReadOnlyList<ConfigurationProblem> Problems { get; init; } = [];
}

/// <summary>The result of starting the engine here, with all its reactors.</summary>
/// <param name="Configured">The configured backend.</param>
/// <param name="Backend">The backend in use; null if the engine does not start.</param>
/// <param name="IoUringRefusal">Why io_uring is not available, in the engine's form "cause: remedy"; null if it works.</param>
/// <param name="StartRefusal">Why the engine does not start, in the same form; null if it does.</param>
internal sealed record EngineFacts(BackendKind Configured, string? Backend, string? IoUringRefusal, string? StartRefusal);

/// <summary>The user who would serve.</summary>
/// <param name="Name">The configured name.</param>
/// <param name="Problem">Why the user does not exist or cannot be checked; null if it can.</param>
/// <param name="InaccessibleFiles">Files that the user may not open again when the server reloads.</param>
internal sealed record UserFacts(string Name, string? Problem, IReadOnlyList<InaccessibleFile> InaccessibleFiles);

/// <summary>The result of reading just-read bytes again with RWF_NOWAIT.</summary>
internal enum CachedRead
{
    /// <summary>There was no file for the test.</summary>
    Untried,

    /// <summary>The read completed at once.</summary>
    Inline,

    /// <summary>The file system does not support RWF_NOWAIT (EOPNOTSUPP): overlayfs and tmpfs.</summary>
    Unsupported,

    /// <summary>The read would have waited (EAGAIN): the page cache does not keep data.</summary>
    WouldWait,
}

/// <summary>The folder that would be served.</summary>
/// <param name="Path">The configured path.</param>
/// <param name="FileSystem">The kernel's name of the file system: ext4, overlay, tmpfs, nfs4, fuse.sshfs; null if it was not read.</param>
/// <param name="CachedRead">Whether cached bytes are read without waiting.</param>
/// <param name="Directories">The number of directories, including the root.</param>
internal sealed record RootFacts(string Path, string? FileSystem, CachedRead CachedRead, long Directories);
