package dynamo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// encodingGzip names the encoding of a result that is kept as one member of the gzip format (RFC
// 1952): in data of type B or in parts. An operator reads it with base64 -d and gunzip.
//
// Why this one: a write unit costs as much as 20 ms of CPU, so the units that it saves decide, and
// after them what a start costs. Level 6 takes three times as long as level 1 for a tenth less. The
// package of klauspost takes half of the time of compress/gzip in Go 1.26, gives the same bytes
// whatever release of Go builds it, and adds 0.15 MB to a binary and no time to its start.
const encodingGzip = "gzip"

const (
	writeUnit  = 1 << 10                // bytes
	itemWeight = 350                    // about what the item of a record weighs beside its result
	oneUnit    = writeUnit - itemWeight // the size of a result whose item takes one write unit
	sampled    = 64 << 10               // of a result that is written while it is compressed
	gzipFrame  = 10 + 8                 // the shortest header and the trailer of a member
	// maxExpansion is how many bytes a byte of deflate can stand for, see
	// https://www.zlib.net/zlib_tech.html.
	maxExpansion = 1032
	// headroom follows a result, so that the announcement of an HTTP response needs no copy of it.
	headroom = 256
)

var (
	errNotWorthIt = errors.New("not smaller")
	errNoGzip     = errors.New("it is no gzip of a result")
)

// compressor keeps idle writers (0.8 MB each, and up to a part) and readers (40 KB), in which the
// last bytes of a result may stay until they are used again. It is safe for concurrent use.
type compressor struct{ repetitions, letters, readers sync.Pool }

type writer struct {
	out  cutter
	gzip *gzip.Writer
}

type reader struct {
	in   bytes.Reader
	gzip gzip.Reader
}

// compress returns a result as gzip, cut into pieces of partSize, or nil if its item would not cost
// a write unit less. With write it is always gzip, and write is handed each batch of pieces that is
// followed by another one. The same result gives the same bytes whatever was compressed before: a
// write that is repeated must not alter the parts that its first attempt wrote.
//
// The search for repetitions leaves text alone in which it finds none, such as the base64 of a
// picture, while Huffman codes for its letters take a quarter off. So they alone are used where the
// search saves less than an eighth of the result, or of a sample of one that is written meanwhile.
func (c *compressor) compress(result []byte, write func(batch [][]byte) error) (pieces [][]byte, err error) {
	room, sample := maxParts*partSize, result
	if write == nil {
		units := (itemWeight + len(result) + writeUnit - 1) / writeUnit
		room = (units-1)*writeUnit - itemWeight
	} else {
		sample = result[len(result)/2:][:min(sampled, len(result)/2)]
	}
	if room <= 0 {
		return nil, nil
	}
	pieces, err = deflate(&c.repetitions, gzip.BestSpeed, sample, min(room, len(sample)*7/8), nil)
	switch {
	case errors.Is(err, errNotWorthIt):
		pieces, err = deflate(&c.letters, gzip.HuffmanOnly, result, room, write)
	case write != nil:
		pieces, err = deflate(&c.repetitions, gzip.BestSpeed, result, room, write)
	}
	if errors.Is(err, errNotWorthIt) {
		return nil, nil
	}
	return pieces, err
}

func deflate(writers *sync.Pool, level int, result []byte, room int, write func([][]byte) error) ([][]byte, error) {
	w, ok := writers.Get().(*writer)
	if !ok {
		w = new(writer)
		w.gzip, _ = gzip.NewWriterLevel(nil, level) // the level is valid
	}
	w.out.room, w.out.write = room, write
	w.gzip.Reset(&w.out)
	_, err := w.gzip.Write(result)
	if err == nil {
		err = w.gzip.Close()
	}
	pieces := w.out.pieces
	w.out = cutter{spare: w.out.spare}
	if len(pieces) == 1 && err == nil { // it keeps what it takes, and its room is used again
		w.out.spare, pieces[0] = pieces[0], bytes.Clone(pieces[0])
	}
	writers.Put(w)
	return pieces, err
}

// cutter cuts what is written into pieces of partSize, as long as there is room.
type cutter struct {
	pieces [][]byte
	room   int
	write  func(batch [][]byte) error
	spare  []byte // room for the first piece
}

func (c *cutter) Write(p []byte) (n int, err error) {
	if len(p) > c.room {
		return 0, errNotWorthIt
	}
	for n = len(p); len(p) > 0; {
		last := len(c.pieces) - 1
		if last < 0 || len(c.pieces[last]) == partSize {
			if err := c.next(); err != nil {
				return 0, err
			}
			last = len(c.pieces) - 1
		}
		piece := c.pieces[last]
		fits := min(len(p), partSize-len(piece))
		c.pieces[last] = append(piece, p[:fits]...)
		p = p[fits:]
		c.room -= fits
	}
	return n, nil
}

// next begins a piece, and writes those before it if they are a batch.
func (c *cutter) next() error {
	if c.write != nil && len(c.pieces) == writeBatch {
		if err := c.write(c.pieces); err != nil {
			return err
		}
		c.pieces = c.pieces[:0]
	}
	c.pieces = append(c.pieces, slices.Grow(c.spare[:0], min(c.room, partSize)))
	c.spare = nil
	return nil
}

// expand returns the result that was compressed. It allocates what the trailer says that it has,
// which anyone may have written: no more than the data can stand for, nor than a result may have.
// Whether it is the one that was written is for the commit to say.
func (c *compressor) expand(data []byte) ([]byte, error) {
	if len(data) < gzipFrame {
		return nil, errNoGzip
	}
	size := int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
	if size > maxResult || size > maxExpansion*int64(len(data)) {
		return nil, errNoGzip
	}
	r, ok := c.readers.Get().(*reader)
	if !ok {
		r = new(reader)
	}
	r.in.Reset(data)
	defer func() {
		r.in.Reset(nil)
		c.readers.Put(r)
	}()
	if err := r.gzip.Reset(&r.in); err != nil {
		return nil, errNoGzip
	}
	result := make([]byte, size, int(size)+headroom)
	if _, err := io.ReadFull(&r.gzip, result); err != nil {
		return nil, errNoGzip
	}
	// The end is where the size and the checksum are compared, and nothing may follow it.
	if n, err := r.gzip.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, errNoGzip
	}
	return result, nil
}
