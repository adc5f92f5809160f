using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Archives;

/// <summary>
/// Makes an archive piece by piece: <see cref="Run"/> compresses on the thread pool, and says what its owner must do before the next call:
/// take the output, open a file, read a piece of it. It is used by one of the two at a time, and holds one piece of a file, one piece of
/// output and at most one descriptor, however large the tree is. Its owner keeps the snapshot's lease.
/// </summary>
/// <remarks>
/// What is archived of a file is its content at the time when it is opened. If it changes before its last byte is read, or cannot be read,
/// the archive ends: it must not look whole. A file that is gone before it is opened is left out.
/// </remarks>
internal sealed class ArchiveProducer : IDisposable
{
    /// <summary>The bytes that are read and compressed at a time: half a millisecond.</summary>
    public const int PieceBytes = 64 * 1024;

    /// <summary>Pieces of files in memory that one run compresses: other archives wait for it.</summary>
    private const int PiecesMax = 4;

    /// <summary>Entries that one run adds, or leaves out.</summary>
    private const int EntriesMax = 256;

    private readonly DirectoryArchive _archive;
    private readonly CatalogSnapshot _snapshot;
    private readonly ArchiveWalk _walk;
    private readonly ArchiveOutput _output = new();
    private readonly ArchiveWriter _writer;
    private readonly byte[] _input = GC.AllocateUninitializedArray<byte>(PieceBytes, pinned: true);
    private int _inputBytes;
    private ArchiveEntry _entry;
    private EntryState _state;
    private long _remaining;
    private BodySource _source;
    private bool _isOpen;
    private long _offset;
    private bool _hasWalked;
    private bool _isDisposed;

    public ArchiveProducer(DirectoryArchive archive, CatalogSnapshot snapshot)
    {
        _archive = archive;
        _snapshot = snapshot;
        _walk = new ArchiveWalk(archive, snapshot);
        _writer = ArchiveWriter.Of(archive.Format, _output);
    }

    public SiteArchives Archives => _archive.Archives;

    /// <summary>What was made since the last <see cref="ClearOutput"/>.</summary>
    public ReadOnlyMemory<byte> Output => _output.Written;

    /// <summary>The descriptor to read a piece from.</summary>
    public int Descriptor => _source.Descriptor;

    /// <summary>Where in the file the piece begins.</summary>
    public long Offset => _offset;

    /// <summary>Where the piece goes, in pinned memory.</summary>
    public Memory<byte> Input => _input.AsMemory(0, (int)Math.Min(PieceBytes, _source.Size - _offset));

    public void ClearOutput() => _output.Clear();

    /// <summary>Continues until something must be done. On the thread pool, by <see cref="SiteArchives.RunAsync"/>.</summary>
    public ArchiveStep Run()
    {
        int pieces = 0;
        int entries = 0;
        while (_output.Length < PieceBytes && pieces < PiecesMax && entries < EntriesMax)
        {
            switch (_state)
            {
                case EntryState.None when _hasWalked:
                    if (_writer.Finish())
                    {
                        return ArchiveStep.Finished;
                    }

                    break;
                case EntryState.None:
                    entries++;
                    BeginNext();
                    break;
                case EntryState.Unopened:
                    return ArchiveStep.OpenFile;
                case EntryState.Opened:
                    BeginContent(_source.Size);
                    break;
                case EntryState.Content when _entry.File!.Strategy == BodyStrategy.InMemory:
                    pieces++;
                    ReadOnlySpan<byte> body = _entry.File.InMemoryBody[^(int)_remaining..];
                    AddContent(body[..Math.Min(body.Length, PieceBytes)]);
                    break;
                case EntryState.Content when _inputBytes == 0:
                    return ArchiveStep.ReadFile;
                default:
                    pieces++;
                    AddContent(_input.AsSpan(0, _inputBytes));
                    _inputBytes = 0;
                    break;
            }
        }

        return ArchiveStep.TakeOutput;
    }

    /// <summary>Opens the file that comes next. False if the archive must end.</summary>
    public bool TryOpenFile()
    {
        Asset file = _entry.File!;
        if (file.IsUnreadable)
        {
            return Cut("it cannot be read");
        }

        switch (BodySource.TryOpen(_snapshot, file, out BodySource source))
        {
            case BodyOpening.Opened:
                // The size by the descriptor: the file may have changed since it was catalogued.
                _source = source.Renewed();
                _isOpen = true;
                _offset = 0;
                _state = EntryState.Opened;
                return true;
            case BodyOpening.Gone:
                Archives.ReportLeftOut(file);
                _state = EntryState.None;
                return true;
            default:
                return Cut("no descriptor is available");
        }
    }

    /// <summary>Takes a piece that was read into <see cref="Input"/>. False if the archive must end.</summary>
    /// <param name="count">The number of bytes; 0 at the end of the file, or negative if it cannot be read.</param>
    public bool TryTakePiece(int count)
    {
        if (count <= 0)
        {
            return Cut(count < 0 ? "it cannot be read" : "it has become shorter");
        }

        _inputBytes = count;
        _offset += count;
        if (_offset < _source.Size)
        {
            return true;
        }

        bool isWhole = _source.Change() != BodyChange.Rewritten;
        Close();
        return isWhole || Cut("it was changed");
    }

    /// <summary>Ends it, also before its end. A second call has no effect.</summary>
    public void Dispose()
    {
        if (!_isDisposed)
        {
            _isDisposed = true;
            Close();
            _writer.Dispose();
            _archive.End();
        }
    }

    private bool Cut(string reason)
    {
        Archives.ReportCut(_entry.File!, reason);
        return false;
    }

    private void Close()
    {
        if (_isOpen)
        {
            _isOpen = false;
            _source.Close();
        }
    }

    private void BeginNext()
    {
        switch (_walk.MoveNext())
        {
            case ArchiveWalkResult.Entry:
                _entry = _walk.Current;
                if (_entry.File is null)
                {
                    BeginContent(0);
                }
                else if (_entry.File is { Strategy: BodyStrategy.InMemory, IsUnreadable: false })
                {
                    BeginContent(_entry.File.Size);
                }
                else
                {
                    _state = EntryState.Unopened;
                }

                break;
            case ArchiveWalkResult.End:
                _hasWalked = true;
                break;
        }
    }

    private void BeginContent(long size)
    {
        _writer.Begin(_entry, size);
        _remaining = size;
        _state = EntryState.Content;
        if (size == 0)
        {
            EndContent();
        }
    }

    private void AddContent(ReadOnlySpan<byte> piece)
    {
        _writer.Write(piece);
        _remaining -= piece.Length;
        if (_remaining == 0)
        {
            EndContent();
        }
    }

    private void EndContent()
    {
        _writer.End();
        _state = EntryState.None;

        // Of an empty file nothing was read.
        Close();
    }

    /// <summary>How far the present entry is.</summary>
    private enum EntryState : byte
    {
        /// <summary>There is none.</summary>
        None,

        /// <summary>Its file is not open yet.</summary>
        Unopened,

        /// <summary>Its file is open, and its header not written yet.</summary>
        Opened,

        /// <summary>Its header is written, and its content not yet, or not all of it.</summary>
        Content,
    }
}

/// <summary>What the owner of an <see cref="ArchiveProducer"/> must do, after it has taken the output, before it runs again.</summary>
internal enum ArchiveStep
{
    /// <summary>Nothing more.</summary>
    TakeOutput,

    /// <summary><see cref="ArchiveProducer.TryOpenFile"/>.</summary>
    OpenFile,

    /// <summary>Read a piece, and <see cref="ArchiveProducer.TryTakePiece"/>.</summary>
    ReadFile,

    /// <summary>There is nothing more to do, and the output is the last.</summary>
    Finished,

    /// <summary>An unexpected error, which was logged: the archive must not look whole.</summary>
    Failed,
}
