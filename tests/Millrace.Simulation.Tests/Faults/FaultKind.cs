namespace Millrace.Simulation.Tests.Faults;

/// <summary>What may go wrong in a run: the kernel's doing first, then the operator's, then the peers'.</summary>
internal enum FaultKind
{
    /// <summary>An operation moves fewer bytes at a time than it could, down to one.</summary>
    Fragmented,

    /// <summary>A send with MSG_WAITALL completes before all is sent.</summary>
    ShortSend,

    /// <summary>A file read brings less than there is.</summary>
    ShortFileRead,

    /// <summary>EINTR.</summary>
    Interrupted,

    /// <summary>EAGAIN.</summary>
    TryAgain,

    /// <summary>ECONNRESET: the network cut the connection.</summary>
    ConnectionReset,

    /// <summary>EPIPE, for the same reason.</summary>
    BrokenPipe,

    /// <summary>ENOBUFS, beyond what a small buffer ring brings by itself.</summary>
    NoBufferSpace,

    /// <summary>EMFILE for an accept.</summary>
    NoDescriptors,

    /// <summary>ENOMEM.</summary>
    NoMemory,

    /// <summary>EIO for a file read.</summary>
    DiskError,

    /// <summary>A file cannot be opened, or not be looked at: EMFILE, ENFILE, ENOMEM, ENOENT, EACCES, EIO.</summary>
    FileRefused,

    /// <summary>A file is cut off while it is served.</summary>
    FileShrinks,

    /// <summary>A file read that takes seconds, or a minute: the disk, or a network file system, has a pause.</summary>
    SlowDisk,

    /// <summary>Pages of a file that are not at hand, or not all of them.</summary>
    ColdFile,

    /// <summary>ENOTCONN for the address of a peer that is gone already.</summary>
    NoPeerAddress,

    /// <summary>A multishot operation ends with a completion that brings no error.</summary>
    MultishotEnded,

    /// <summary>A completion overtakes those of other operations.</summary>
    Reordered,

    /// <summary>A completion comes later than its operation ended.</summary>
    Delayed,

    /// <summary>A completion under the token of a connection that is gone, its slot perhaps let again.</summary>
    LateCompletion,

    /// <summary>The completion queue is not drained for a while, and then all of it is there at once.</summary>
    Overflowed,

    /// <summary>The operation was faster than its cancellation.</summary>
    CancelRaced,

    /// <summary>The clock leaps forward: the machine slept.</summary>
    ClockJumped,

    /// <summary>The wait ends with EINTR and brings nothing.</summary>
    EnterInterrupted,

    /// <summary>The server is stopped while its peers are at work.</summary>
    Stopped,

    /// <summary>A connection is accepted by one reactor and served by another.</summary>
    Dealt,

    /// <summary>The site is deployed again while it is served.</summary>
    Deployed,

    /// <summary>A filter between socket and handler throws, or cannot be had.</summary>
    FilterFailed,

    /// <summary>More connections than the limit allows.</summary>
    Crowded,

    /// <summary>More connections of one client than it may have.</summary>
    CrowdedClient,

    /// <summary>A connection beyond a limit is told so.</summary>
    Refused,

    /// <summary>Requests are sent before the earlier ones are answered.</summary>
    Pipelines,

    /// <summary>The peer's end is announced after its last request.</summary>
    HalfCloses,

    /// <summary>The peer stops reading.</summary>
    NeverReads,

    /// <summary>The peer reads about as slowly as it may, or more slowly.</summary>
    ReadsSlowly,

    /// <summary>The peer is gone without a word: its end, or a reset, was lost on the way.</summary>
    Vanishes,

    /// <summary>A head that comes byte by byte and never ends.</summary>
    Trickles,

    /// <summary>A request whose body does not come.</summary>
    StallsBody,

    /// <summary>The peer resets the connection at any time.</summary>
    Resets,

    /// <summary>The peer closes without having read all.</summary>
    Leaves,

    /// <summary>The peer stays when it has its answers, until the server ends the connection.</summary>
    Stays,

    /// <summary>The peer sends requests without end and reads nothing.</summary>
    Floods,

    /// <summary>Streams of HTTP/2 are reset before they are answered.</summary>
    Cancels,

    /// <summary>Windows of HTTP/2 that are not opened any more.</summary>
    StallsWindows,

    /// <summary>Frames of HTTP/2 that ask for nothing, more of them than are welcome.</summary>
    FloodsFrames,

    /// <summary>Nobody listens where an upstream should; the first fault of runs with upstreams alone.</summary>
    UpstreamRefuses,

    /// <summary>An upstream's host does not answer a connect.</summary>
    UpstreamUnreachable,

    /// <summary>An upstream resets the connection at any byte of its answer, or before the first.</summary>
    UpstreamResets,

    /// <summary>An upstream ends the connection within its answer.</summary>
    UpstreamEndsEarly,

    /// <summary>An upstream stops within its answer, and stays connected.</summary>
    UpstreamHangs,

    /// <summary>An upstream pauses within its answer, for a time it may.</summary>
    UpstreamPauses,

    /// <summary>An upstream sends more than its answer.</summary>
    UpstreamSurplus,

    /// <summary>An upstream's head or chunks are malformed.</summary>
    UpstreamMalformed,

    /// <summary>An upstream closes the connection after an answer, without having said so.</summary>
    UpstreamCloses,

    /// <summary>An upstream answers before it has the request's body.</summary>
    UpstreamAnswersEarly,

    /// <summary>An upstream does not read the request's body.</summary>
    UpstreamStopsReading,
}
