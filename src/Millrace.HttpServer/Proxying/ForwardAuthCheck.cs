using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// Asks a service whether one request may pass. Whatever is not a complete response of 2xx is a refusal: a service that is down, slow or
/// malformed lets nobody pass. Reactor thread; the answer completes its waiters on the thread pool.
/// </summary>
internal sealed class ForwardAuthCheck
{
    /// <summary>The body of a refusal, which is a page to log in or a line of text, is kept until it is sent.</summary>
    private const int BodyBytesMax = 256 * 1024;

    private const int BadGateway = 502;

    private readonly ForwardAuthRule _rule;
    private readonly IReadOnlyList<byte[]> _copiedNames;

    // Not on the reactor's callback stack: what waits plans the request again.
    private readonly TaskCompletionSource<ForwardAuthAnswer> _answer = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly LineBuffer _body = new();
    private readonly List<Field> _fields = [];
    private UpstreamExchange? _exchange;
    private int _status;
    private byte[] _contentType = "application/octet-stream"u8.ToArray();
    private byte[] _copiedLines = [];

    private ForwardAuthCheck(ForwardAuthRule rule, IReadOnlyList<byte[]> copiedNames) => (_rule, _copiedNames) = (rule, copiedNames);

    private bool IsGranted => _status is >= 200 and < 300;

    /// <param name="pool">The service's connections.</param>
    /// <param name="request">The request to it; copied.</param>
    /// <param name="rule">The rule that names it.</param>
    /// <param name="copiedNames">The fields of its response that the application gets.</param>
    public static Task<ForwardAuthAnswer> BeginAsync(
        UpstreamPool pool, in UpstreamRequest request, ForwardAuthRule rule, IReadOnlyList<byte[]> copiedNames)
    {
        var check = new ForwardAuthCheck(rule, copiedNames);
        check._exchange = pool.Begin(request, check.OnProgressed);
        return check._answer.Task;
    }

    private void OnProgressed()
    {
        while (_exchange is { } exchange)
        {
            switch (exchange.Phase)
            {
                case UpstreamPhase.Informational:
                    exchange.TakeHead();
                    break;
                case UpstreamPhase.Head:
                    Read(exchange.Head, exchange.HeadBytes);
                    exchange.TakeHead();
                    break;
                case UpstreamPhase.Body when !exchange.Available.IsEmpty:
                    TakeBody(exchange);
                    break;
                case UpstreamPhase.Complete:
                    End(IsGranted ? new ForwardAuthAnswer(_rule, 0) { CopiedLines = _copiedLines } : Refusal());
                    break;
                case UpstreamPhase.Failed:
                    End(new ForwardAuthAnswer(_rule, exchange.Failure.Status));
                    break;
                default:
                    return;
            }
        }
    }

    private void Read(ResponseHead head, ReadOnlySpan<byte> bytes)
    {
        _status = head.Status;
        var hopByHop = HopByHopFields.Of(head.Fields, bytes);
        var copied = new LineBuffer();
        foreach (ref readonly FieldLine line in head.Fields)
        {
            ReadOnlySpan<byte> name = line.NameText.In(bytes);
            ReadOnlySpan<byte> value = line.Value.In(bytes);
            if (hopByHop.IsTooLong || hopByHop.Contains(name))
            {
                continue;
            }

            if (IsGranted)
            {
                if (CopiedFieldNames.Contains(_copiedNames, name))
                {
                    copied.Field(name, value);
                }
            }
            else if (Words.EqualsIgnoreCase(name, "content-type"u8))
            {
                _contentType = value.ToArray();
            }
            else if (line.Name != FieldName.ContentLength && !Words.EqualsIgnoreCase(name, "date"u8))
            {
                _fields.Add(new Field(Encoding.ASCII.GetString(name), Encoding.ASCII.GetString(value)));
            }
        }

        _copiedLines = copied.Bytes.ToArray();
    }

    private void TakeBody(UpstreamExchange exchange)
    {
        int count = exchange.Available.Length;
        if (_body.Written + count > BodyBytesMax)
        {
            End(new ForwardAuthAnswer(_rule, BadGateway));
            return;
        }

        _body.Write(exchange.Available);
        exchange.Consume(count);
    }

    private ForwardAuthAnswer Refusal() => new(_rule, _status)
    {
        Document = GeneratedDocument.WithoutTag(_body.Bytes.ToArray(), _contentType),
        Fields = new FieldSet([.. _fields]),
    };

    private void End(ForwardAuthAnswer answer)
    {
        _exchange!.Release();
        _exchange = null;
        _answer.SetResult(answer);
    }
}

/// <summary>What a service has decided on a request.</summary>
/// <param name="Rule">The rule that names the service.</param>
/// <param name="Status">0 if the request may pass; otherwise the status of the response to it.</param>
internal sealed record ForwardAuthAnswer(ForwardAuthRule Rule, int Status)
{
    public bool IsGranted => Status == 0;

    /// <summary>The fields for the application, as lines.</summary>
    public byte[] CopiedLines { get; init; } = [];

    /// <summary>The service's own response, if that refuses the request; null if it gave none.</summary>
    public GeneratedDocument? Document { get; init; }

    public FieldSet Fields { get; init; } = FieldSet.Empty;
}

/// <summary>The names of fields that a service sets for the application, so that no client may.</summary>
internal static class CopiedFieldNames
{
    /// <summary>Whether a name is one of these, for an application, too, that reads '_' as '-', as CGI does.</summary>
    public static bool Contains(IReadOnlyList<byte[]> lowerNames, ReadOnlySpan<byte> name)
    {
        for (int i = 0; i < lowerNames.Count; i++)
        {
            if (AreEqual(lowerNames[i], name))
            {
                return true;
            }
        }

        return false;
    }

    public static bool AreEqual(ReadOnlySpan<byte> lowerName, ReadOnlySpan<byte> name)
    {
        if (lowerName.Length != name.Length)
        {
            return false;
        }

        for (int i = 0; i < name.Length; i++)
        {
            byte letter = name[i] is >= (byte)'A' and <= (byte)'Z' ? (byte)(name[i] | 0x20) : name[i];
            if (letter != lowerName[i] && !(letter == '_' && lowerName[i] == '-') && !(letter == '-' && lowerName[i] == '_'))
            {
                return false;
            }
        }

        return true;
    }
}
